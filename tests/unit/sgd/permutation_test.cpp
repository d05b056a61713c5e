#include "permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace apps::sgd {
namespace {

std::vector<uint32_t> places_of(uint64_t size, uint64_t key) {
  const Permutation permutation(size, key);
  std::vector<uint32_t> places;
  for (uint64_t place = 0; place < size; ++place) {
    places.push_back(permutation(static_cast<uint32_t>(place)));
  }
  return places;
}

void expect_bijection(uint64_t size, uint64_t key) {
  std::vector<bool> is_taken(size, false);
  for (const uint32_t place : places_of(size, key)) {
    ASSERT_LT(place, size) << "size " << size << ", key " << key;
    ASSERT_FALSE(is_taken[place]) << "size " << size << ", key " << key << ": " << place << " twice";
    is_taken[place] = true;
  }
}

TEST(PermutationTest, EverySmallSizeIsABijection) {
  for (uint64_t size = 1; size <= 300; ++size) {
    for (uint64_t key = 0; key < 10; ++key) {
      expect_bijection(size, key);
    }
  }
}

TEST(PermutationTest, LargeSizesAroundPowersOfTwoAreBijections) {
  for (const unsigned bits : {10U, 13U, 16U, 19U}) {
    for (uint64_t size = (uint64_t{1} << bits) - 1; size <= (uint64_t{1} << bits) + 1; ++size) {
      expect_bijection(size, size);
    }
  }
}

TEST(PermutationTest, TheLargestSizeKeepsDifferentPlacesDifferent) {
  const Permutation permutation(uint64_t{1} << 32, 1);
  std::vector<uint32_t> places;
  for (uint32_t place = UINT32_MAX - 9999; place != 0; ++place) {
    places.push_back(permutation(place));
  }
  std::sort(places.begin(), places.end());
  EXPECT_EQ(std::unique(places.begin(), places.end()), places.end());
}

TEST(PermutationTest, KeysGiveDifferentOrders) {
  for (uint64_t key = 0; key < 100; ++key) {
    EXPECT_NE(places_of(1000, key), places_of(1000, key + 1)) << "key " << key;
  }
}

// Of a random order, half of the steps go up, and a step is a third of the size on average.
TEST(PermutationTest, OrdersLookRandom) {
  constexpr int64_t kSize = 10000;
  for (uint64_t key = 0; key < 20; ++key) {
    const std::vector<uint32_t> places = places_of(kSize, key);
    int64_t ascents = 0;
    int64_t distance = 0;
    for (size_t index = 0; index + 1 < places.size(); ++index) {
      ascents += places[index + 1] > places[index] ? 1 : 0;
      distance += std::abs(int64_t{places[index + 1]} - int64_t{places[index]});
    }
    EXPECT_NEAR(static_cast<double>(ascents) / kSize, 0.5, 0.05) << "key " << key;
    EXPECT_NEAR(static_cast<double>(distance) / kSize / kSize, 1.0 / 3, 0.03) << "key " << key;
  }
}

}  // namespace
}  // namespace apps::sgd
