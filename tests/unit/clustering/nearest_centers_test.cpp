#include "nearest_centers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "travels.h"

namespace apps::clustering {
namespace {

using Numbers = std::vector<uint32_t>;
constexpr const char* kAllBounds[] = {"none", "elkan", "drake-hamerly"};

// Around as many modes as there are points for ten each, which overlap.
FloatRows clustered_points(size_t columns, size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> number;
  FloatRows modes(columns, count / 10 + 1);
  for (size_t mode = 0; mode < modes.size(); ++mode)
    for (size_t column = 0; column < columns; ++column) modes[mode][column] = number(generator);
  FloatRows points(columns, count);
  for (size_t point = 0; point < count; ++point) {
    const float* mode = modes[generator() % modes.size()];
    for (size_t column = 0; column < columns; ++column) points[point][column] = mode[column] + 0.5F * number(generator);
  }
  return points;
}

// Small whole numbers: many equal points and distances.
FloatRows points_of_a_grid(size_t columns, size_t count, uint32_t seed) {
  std::mt19937 generator(seed);
  FloatRows points(columns, count);
  for (size_t point = 0; point < count; ++point)
    for (size_t column = 0; column < columns; ++column) points[point][column] = static_cast<float>(generator() % 4);
  return points;
}

Numbers expected_nearest(const FloatRows& points, const FloatRows& centers) {
  Numbers nearest;
  for (size_t point = 0; point < points.size(); ++point) {
    float least = std::numeric_limits<float>::infinity();
    nearest.push_back(0);
    for (uint32_t center = 0; center < centers.size(); ++center) {
      const float distance = squared_distance(points[point], centers[center], points.stride());
      if (distance < least) least = distance, nearest.back() = center;
    }
  }
  return nearest;
}

FloatRows means(const FloatRows& points, const Numbers& nearest, FloatRows centers) {
  for (uint32_t center = 0; center < centers.size(); ++center) {
    std::vector<double> sums(points.columns());
    double count = 0;
    for (size_t point = 0; point < points.size(); ++point) {
      if (nearest[point] != center) continue;
      ++count;
      for (size_t column = 0; column < points.columns(); ++column) sums[column] += points[point][column];
    }
    for (size_t column = 0; count > 0 && column < points.columns(); ++column)
      centers[center][column] = static_cast<float>(sums[column] / count);
  }
  return centers;
}

FloatRows first_rows(const FloatRows& points, size_t count) {
  FloatRows rows(points.columns());
  rows.take(points.bytes().substr(0, count * points.columns() * sizeof(float)));
  return rows;
}

// Runs rounds of Lloyd's beside those with bounds. Returns the fraction of distances of the last round. What bounds
// know is lost before round `lost`.
double check_rounds(const std::string& bounds, const FloatRows& points, size_t count, int rounds, int lost = -1) {
  FloatRows now = first_rows(points, count);
  Centers centers(points.columns());
  auto found = nearest_centers(bounds);
  Numbers before;
  Assignment assignment;
  for (int round = 0; round < rounds; ++round) {
    centers.take(now.bytes());
    if (round == lost) found = nearest_centers(bounds);
    assignment = found->assign(points, centers);
    const Numbers expected = expected_nearest(points, now);
    EXPECT_EQ(Numbers(found->nearest().begin(), found->nearest().end()), expected) << bounds << ", round " << round;
    uint64_t changed = 0;
    for (size_t point = 0; point < points.size(); ++point)
      changed += round == 0 || expected[point] != before[point] ? 1 : 0;
    EXPECT_EQ(assignment.changed, changed) << bounds << ", round " << round;
    before = expected;
    now = means(points, expected, now);
  }
  const uint64_t pairs = points.size() * count;
  return pairs == 0 ? 0 : static_cast<double>(assignment.distances) / static_cast<double>(pairs);
}

TEST(NearestCentersTest, AreThoseOfLloydInEveryRound) {
  for (const char* bounds : kAllBounds)
    for (const size_t columns : {2, 8, 40})
      for (const size_t count : {1, 2, 3, 9, 40}) check_rounds(bounds, clustered_points(columns, 400, 1), count, 15);
}

TEST(NearestCentersTest, OfSeveralAsNearTheFirstIsTaken) {
  for (const char* bounds : kAllBounds)
    for (uint32_t seed = 0; seed < 10; ++seed) check_rounds(bounds, points_of_a_grid(3, 300, seed), 24, 12);
}

TEST(NearestCentersTest, AreThoseOfLloydWhereverPointsAre) {
  for (const char* bounds : kAllBounds)
    for (const float scale : {1e-22F, 1e-18F, 1e-5F, 1e12F}) {
      FloatRows points = clustered_points(6, 300, 2);
      for (size_t point = 0; point < points.size(); ++point)
        for (size_t column = 0; column < 6; ++column) points[point][column] = scale * (100 + points[point][column]);
      check_rounds(bounds, points, 20, 12);
    }
}

// Centers that go on moving, longer than travels are kept.
TEST(NearestCentersTest, AreThoseOfLloydInManyRounds) {
  const FloatRows points = clustered_points(4, 150, 8);
  for (const char* bounds : kAllBounds) {
    std::mt19937 generator(9);
    FloatRows now = first_rows(points, 24);
    Centers centers(4);
    auto found = nearest_centers(bounds);
    for (uint32_t round = 0; round < 3 * Travels::kRounds; ++round) {
      centers.take(now.bytes());
      found->assign(points, centers);
      ASSERT_EQ(Numbers(found->nearest().begin(), found->nearest().end()), expected_nearest(points, now))
          << bounds << ", round " << round;
      for (size_t center = 0; center < now.size(); ++center)
        now[center][generator() % 4] += (static_cast<float>(generator() % 1000) / 1000 - 0.5F) * 0.05F;
    }
  }
}

TEST(NearestCentersTest, WhatIsLostIsMadeUpFor) {
  for (const char* bounds : kAllBounds) check_rounds(bounds, clustered_points(4, 500, 3), 20, 8, 4);
}

TEST(NearestCentersTest, ThereMayBeNoPoints) {
  for (const char* bounds : kAllBounds) {
    Centers centers(3);
    centers.take(clustered_points(3, 4, 1).bytes());
    const Assignment assignment = nearest_centers(bounds)->assign(FloatRows(3), centers);
    EXPECT_EQ(assignment.changed, 0U);
    EXPECT_EQ(assignment.distances, 0U);
  }
}

TEST(NearestCentersTest, BoundsSpareMostDistancesInTheEnd) {
  const FloatRows points = clustered_points(8, 2000, 4);
  EXPECT_EQ(check_rounds("none", points, 50, 3), 1);
  EXPECT_LT(check_rounds("elkan", points, 50, 25), 0.05);
  EXPECT_LT(check_rounds("drake-hamerly", points, 50, 25), 0.15);
}

TEST(NearestCentersTest, UnknownBoundsAreNone) { EXPECT_EQ(nearest_centers("hamerly"), nullptr); }

// Of those as they are computed, and still when both were found with the largest errors.
TEST(BoundsTest, LeaveRoomForTheErrorOfBothDistances) {
  for (const size_t columns : {8, 512, 2048}) {
    const FloatRows rows = clustered_points(columns, 60, 6);
    const Bounds bounds(rows.stride());
    const double error = relative_error(rows.stride());
    for (size_t row = 1; row < rows.size(); ++row) {
      double sum = 0;
      for (size_t column = 0; column < columns; ++column)
        sum += std::pow(static_cast<double>(rows[0][column]) - rows[row][column], 2);
      const float computed = squared_distance(rows[0], rows[row], rows.stride());
      for (const double shifted : {computed * (1 - error), computed * (1 + error)}) {
        EXPECT_GE(bounds.upper(static_cast<float>(shifted)), std::sqrt(sum) * (1 + error));
        EXPECT_LE(bounds.lower(static_cast<float>(shifted)), std::sqrt(sum) * (1 - error));
      }
    }
  }
  EXPECT_EQ(Bounds(32).lower(0), 0);
  EXPECT_GT(Bounds(32).upper(0), 0);
}

TEST(BoundsTest, RoundedNumbersAreOnTheSafeSide) {
  for (const double number : {1e-20, 0.1, 1 / 3.0, 1.0, 16777217.0, 1e15}) {
    EXPECT_GT(rounded_up(number), number);
    EXPECT_LT(rounded_down(number), number);
    EXPECT_LT(rounded_up(number), number * 1.000001);
    EXPECT_GT(rounded_down(number), number * 0.999999);
  }
  EXPECT_EQ(rounded_down(-1), 0);
}

TEST(TravelsTest, AreAtLeastTheMovementsSince) {
  std::mt19937 generator(7);
  Travels travels(5);
  std::vector<std::vector<float>> all;
  for (uint32_t round = 0; round < Travels::kRounds + 10; ++round) {
    std::vector<float> movements(5);
    for (float& movement : movements) movement = static_cast<float>(generator()) / 1e9F / static_cast<float>(round + 1);
    all.push_back(movements);
    travels.add(movements);
    ASSERT_EQ(travels.round(), all.size());
    const uint32_t oldest = std::max(travels.round() + 1, Travels::kRounds) - Travels::kRounds;
    EXPECT_EQ(travels.is_forgotten_next(oldest), round + 2 >= Travels::kRounds);
    for (uint32_t since = oldest; since <= travels.round(); ++since) {
      double most = 0;
      for (size_t center = 0; center < 5; ++center) {
        double sum = 0;
        for (size_t later = since; later < all.size(); ++later) sum += all[later][center];
        most = std::max(most, sum);
        EXPECT_GE(travels.since(since, center), sum);
        EXPECT_LE(travels.since(since, center), sum + 3e-4);  // of up to 20 in all
      }
      EXPECT_GE(travels.most_since(since), most);
    }
  }
}

TEST(CentersTest, HalfDistancesAreBelowTheTrueOnes) {
  const FloatRows rows = clustered_points(20, 30, 5);
  Centers centers(20);
  centers.take(rows.bytes());
  EXPECT_EQ(centers.taken_distances(), 0U);
  for (size_t center = 0; center < rows.size(); ++center) {
    float least = std::numeric_limits<float>::infinity();
    for (size_t other = 0; other < rows.size(); ++other) {
      const float half = centers.half_distances(center)[other];
      least = std::min(least, half);
      if (other == center) {
        EXPECT_EQ(half, std::numeric_limits<float>::infinity());
      } else {
        const double computed = std::sqrt(static_cast<double>(squared_distance(rows[center], rows[other], 32))) / 2;
        EXPECT_LT(half, computed);
        EXPECT_GT(half, 0.99999 * computed);
      }
    }
    EXPECT_EQ(centers.half_distance_to_nearest(center), least);
  }
  EXPECT_EQ(centers.taken_distances(), 30U * 29 / 2);
  EXPECT_EQ(centers.taken_distances(), 0U);
}

}  // namespace
}  // namespace apps::clustering
