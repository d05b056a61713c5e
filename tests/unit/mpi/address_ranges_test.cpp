#include "mpi/address_ranges.h"

#include <gtest/gtest.h>

#include <bitset>

#include "seed.h"

namespace spillway::mpi {
namespace {

TEST(AddressRangesTest, says_whether_something_is_new) {
  AddressRanges ranges;
  EXPECT_TRUE(ranges.add(10, 20));
  EXPECT_FALSE(ranges.add(12, 20));
  EXPECT_FALSE(ranges.add(15, 15));
  EXPECT_TRUE(ranges.add(19, 21));
  EXPECT_TRUE(ranges.add(0, 1));
  EXPECT_TRUE(ranges.add(~uint64_t{0} - 1, ~uint64_t{0}));
  ranges.clear();
  EXPECT_TRUE(ranges.is_empty());
  EXPECT_FALSE(ranges.overlaps(0, ~uint64_t{0}));
}

TEST(AddressRangesTest, is_a_set_of_addresses) {
  constexpr uint64_t kAddresses = 64;
  Random random(test_seed());
  for (int round = 0; round < 200; ++round) {
    AddressRanges ranges, added;
    std::bitset<kAddresses> expected;
    for (int step = 0; step < 12; ++step) {
      const uint64_t begin = random.below(kAddresses), end = begin + random.below(kAddresses - begin + 1);
      (random.one_in(3) ? added : ranges).add(begin, end);
      for (uint64_t address = begin; address < end; ++address) expected.set(address);
    }
    ranges.add(added);
    for (uint64_t begin = 0; begin < kAddresses; ++begin) {
      bool overlaps = false;
      for (uint64_t end = begin + 1; end <= kAddresses; ++end) {
        overlaps |= expected[end - 1];
        ASSERT_EQ(ranges.overlaps(begin, end), overlaps) << begin << " to " << end;
      }
    }
  }
}

}  // namespace
}  // namespace spillway::mpi
