#include "center_sums.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace apps::clustering {
namespace {

FloatRows whole_numbers(size_t columns, size_t count, uint32_t seed) {
  FloatRows rows(columns, count);
  std::mt19937 generator(seed);
  for (size_t row = 0; row < count; ++row)
    for (size_t column = 0; column < columns; ++column) rows[row][column] = static_cast<float>(generator() % 100);
  return rows;
}

using Sums = std::map<size_t, std::vector<double>>;

Sums sums_of(const CenterBlocks& blocks, const FloatRows& points, const std::vector<uint32_t>& nearest) {
  Sums found;
  blocks.for_each_sum(points, nearest, [&](size_t block, const std::vector<double>& sums) { found[block] = sums; });
  return found;
}

TEST(CenterBlocksTest, HaveAllCentersOnce) {
  const CenterBlocks blocks(10, 4);
  ASSERT_EQ(blocks.size(), 3U);
  EXPECT_EQ(blocks.begin(0), 0U);
  EXPECT_EQ(blocks.end(1), 8U);
  EXPECT_EQ(blocks.end(2), 10U);
  EXPECT_EQ(CenterBlocks(8, 4).size(), 2U);
  EXPECT_EQ(CenterBlocks(1, 100).end(0), 1U);
}

TEST(CenterBlocksTest, SumsAreThoseOfTheirPoints) {
  const FloatRows points = whole_numbers(3, 5, 1);
  const std::vector<uint32_t> nearest = {4, 0, 4, 1, 0};
  const Sums found = sums_of(CenterBlocks(5, 2), points, nearest);
  ASSERT_EQ(found.size(), 2U);  // the second block has no points
  const auto expect = [&](const std::vector<double>& sums, size_t center, std::vector<size_t> members) {
    EXPECT_EQ(sums[center * 4], members.size());
    for (size_t column = 0; column < 3; ++column) {
      double sum = 0;
      for (const size_t member : members) sum += points[member][column];
      EXPECT_EQ(sums[center * 4 + 1 + column], sum);
    }
  };
  expect(found.at(0), 0, {1, 4});
  expect(found.at(0), 1, {3});
  ASSERT_EQ(found.at(2).size(), 4U);
  expect(found.at(2), 0, {0, 2});
}

TEST(CenterBlocksTest, MeansLeaveCentersWithoutPointsWhereTheyAre) {
  const FloatRows points = whole_numbers(3, 4, 2);
  const FloatRows before = whole_numbers(3, 4, 3);
  const std::vector<uint32_t> nearest = {3, 3, 3, 3};
  const CenterBlocks blocks(4, 2);
  const FloatRows means = blocks.means(1, sums_of(blocks, points, nearest).at(1), before);
  ASSERT_EQ(means.size(), 2U);
  for (size_t column = 0; column < 3; ++column) {
    EXPECT_EQ(means[0][column], before[2][column]);
    float sum = 0;
    for (size_t point = 0; point < 4; ++point) sum += points[point][column];
    EXPECT_EQ(means[1][column], sum / 4);
  }
}

TEST(InertiaTest, IsTheSumOfSquaredDistances) {
  const FloatRows points = whole_numbers(3, 20, 2);
  const FloatRows centers = whole_numbers(3, 2, 3);
  std::vector<uint32_t> nearest;
  double expected = 0;
  for (uint32_t point = 0; point < 20; ++point) {
    nearest.push_back(point % 2);
    for (size_t column = 0; column < 3; ++column)
      expected += std::pow(points[point][column] - centers[point % 2][column], 2);
  }
  EXPECT_EQ(inertia(points, nearest, centers), expected);
}

TEST(InertiaTest, IsKeptWhereClustersAreFarApart) {
  FloatRows points(1, 4);
  FloatRows centers(1, 2);
  centers[0][0] = -1e6F;
  centers[1][0] = 1e6F;
  for (size_t point = 0; point < 4; ++point)
    points[point][0] = centers[point / 2][0] + (point % 2 == 0 ? 0.25F : -0.5F);
  EXPECT_EQ(inertia(points, std::vector<uint32_t>{0, 0, 1, 1}, centers), 2 * (0.0625 + 0.25));
}

}  // namespace
}  // namespace apps::clustering
