#include "distances.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "distance_kernels.h"

namespace apps::clustering {
namespace {

FloatRows random_rows(size_t columns, size_t count, uint32_t seed) {
  FloatRows rows(columns, count);
  std::mt19937 generator(seed);
  std::normal_distribution<float> number;
  for (size_t row = 0; row < count; ++row)
    for (size_t column = 0; column < columns; ++column) rows[row][column] = number(generator);
  return rows;
}

// 32 columns at a time, and then halves, as distances.h says.
float expected_distance(const float* first, const float* second, size_t stride) {
  float sums[FloatRows::kBlock] = {};
  for (size_t column = 0; column < stride; ++column) {
    const volatile float difference = first[column] - second[column];
    const volatile float square = difference * difference;
    sums[column % FloatRows::kBlock] += square;
  }
  for (size_t half = FloatRows::kBlock / 2; half > 0; half /= 2)
    for (size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

std::vector<const DistanceKernels*> kernels_of_this_processor() {
  std::vector<const DistanceKernels*> kernels{&kernels_of_any_processor()};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) kernels.push_back(&kernels_with_avx2());
  if (__builtin_cpu_supports("avx512f")) kernels.push_back(&kernels_with_avx512());
#endif
  return kernels;
}

TEST(DistancesTest, AreTheSameToTheBitWithAllKernels) {
  for (const size_t columns : {1, 31, 32, 33, 512}) {
    const FloatRows rows = random_rows(columns, 5, 1);
    for (const DistanceKernels* kernels : kernels_of_this_processor()) {
      ASSERT_LE(kernels->several_count, 4U);
      float several[4];
      kernels->several(rows[0], rows[1], rows.stride(), several);
      for (size_t other = 0; other < kernels->several_count; ++other) {
        float one = 0;
        kernels->one(rows[0], rows[1 + other], rows.stride(), &one);
        EXPECT_EQ(one, expected_distance(rows[0], rows[1 + other], rows.stride()));
        EXPECT_EQ(several[other], one);
      }
    }
  }
}

TEST(DistancesTest, EachPairIsTakenOnceInAscendingOrder) {
  const FloatRows points = random_rows(40, 300, 2);
  for (const size_t count : {1, 7, 8, 21}) {
    const FloatRows centers = random_rows(40, count, 3);
    std::vector<uint32_t> which = all_points(points.size());
    std::ranges::reverse(which);
    which.pop_back();
    std::vector<size_t> taken(which.size());
    for_each_distance(
        points, which, centers, [&](size_t point, size_t first, size_t taken_now, const float* distances) {
          ASSERT_EQ(first, taken[point]);
          for (size_t i = 0; i < taken_now; ++i)
            ASSERT_EQ(distances[i], squared_distance(points[which[point]], centers[first + i], points.stride()));
          taken[point] += taken_now;
        });
    EXPECT_EQ(taken, std::vector<size_t>(which.size(), count));
  }
}

TEST(DistancesTest, AreWithinTheirErrorOfTheTrueOnes) {
  for (const size_t columns : {3, 512, 2048}) {
    const FloatRows rows = random_rows(columns, 40, 4);
    for (size_t row = 1; row < rows.size(); ++row) {
      long double sum = 0;
      for (size_t column = 0; column < columns; ++column)
        sum += std::pow(static_cast<long double>(rows[0][column]) - rows[row][column], 2);
      const float computed = squared_distance(rows[0], rows[row], rows.stride());
      EXPECT_LE(std::abs(static_cast<double>(computed / sum - 1)), relative_error(rows.stride()));
    }
  }
}

TEST(FloatRowsTest, BytesAreTakenBack) {
  const FloatRows rows = random_rows(5, 3, 5);
  FloatRows others(5);
  others.take(rows.bytes());
  ASSERT_EQ(others.size(), 3U);
  EXPECT_EQ(others.bytes(), rows.bytes());
  EXPECT_EQ(rows.bytes().size(), 3 * 5 * sizeof(float));
  others.replace(2, rows.bytes().substr(0, 5 * sizeof(float)));
  for (size_t column = 0; column < others.stride(); ++column) {
    EXPECT_EQ(others[1][column], rows[1][column]);
    EXPECT_EQ(others[2][column], rows[0][column]);
  }
  others.append()[4] = 7;
  EXPECT_EQ(others.size(), 4U);
  EXPECT_EQ(others[3][4], 7);
  EXPECT_EQ(others[2][4], rows[0][4]);
}

}  // namespace
}  // namespace apps::clustering
