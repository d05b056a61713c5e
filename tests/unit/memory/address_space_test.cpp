#include "memory/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "seed.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kUnit = 64 << 10;
constexpr uint64_t kBegin = 1ull << 40;

class AddressSpaceTest : public testing::Test {
 protected:
  void initialise(uint32_t allocations, uint64_t units) {
    table_.resize(allocations + 1);
    addresses_.initialise(table_.data(), allocations + 1, kBegin, kBegin + units * kUnit);
  }

  std::vector<AddressSpace::Range> table_;
  AddressSpace addresses_;
};

TEST_F(AddressSpaceTest, gives_the_lowest_addresses_first) {
  initialise(10, 10);
  EXPECT_EQ(addresses_.take(kUnit, kUnit), kBegin);
  EXPECT_EQ(addresses_.take(2 * kUnit, kUnit), kBegin + kUnit);
  addresses_.give_back(kBegin, kUnit);
  EXPECT_EQ(addresses_.take(2 * kUnit, kUnit), kBegin + 3 * kUnit) << "the hole is too small";
  EXPECT_EQ(addresses_.take(kUnit, kUnit), kBegin);
}

TEST_F(AddressSpaceTest, joins_what_is_given_back_on_both_sides) {
  initialise(10, 4);
  for (int i = 0; i < 4; ++i) addresses_.take(kUnit, kUnit);
  EXPECT_EQ(addresses_.take(kUnit, kUnit), 0u);
  for (int i : {0, 2, 1, 3}) addresses_.give_back(kBegin + static_cast<uint64_t>(i) * kUnit, kUnit);
  EXPECT_EQ(addresses_.free_range_count(), 1u);
  EXPECT_EQ(addresses_.take(4 * kUnit, kUnit), kBegin);
}

TEST_F(AddressSpaceTest, keeps_what_alignment_leaves_over) {
  initialise(10, 64);
  addresses_.take(kUnit, kUnit);
  EXPECT_EQ(addresses_.take(kUnit, 32 * kUnit), kBegin + 32 * kUnit);
  EXPECT_EQ(addresses_.take(31 * kUnit, kUnit), kBegin + kUnit);
}

TEST_F(AddressSpaceTest, refuses_sizes_that_wrap_around) {
  initialise(10, 64);
  EXPECT_EQ(addresses_.take(~uint64_t{0} - kUnit, kUnit), 0u);
  EXPECT_EQ(addresses_.take(~uint64_t{0} - kBegin + kUnit, kUnit), 0u);
}

TEST_F(AddressSpaceTest, refuses_instead_of_splitting_beyond_its_table) {
  initialise(0, 64);  // room for one free range
  EXPECT_EQ(addresses_.take(kUnit, kUnit), kBegin);
  EXPECT_EQ(addresses_.take(kUnit, 32 * kUnit), 0u) << "would leave two free ranges";
  EXPECT_EQ(addresses_.take(63 * kUnit, kUnit), kBegin + kUnit);
}

TEST_F(AddressSpaceTest, ends_the_process_when_a_range_is_given_back_twice) {
  initialise(10, 64);
  const uint64_t begin = addresses_.take(2 * kUnit, kUnit);
  addresses_.give_back(begin, 2 * kUnit);
  EXPECT_EXIT(addresses_.give_back(begin, 2 * kUnit), testing::ExitedWithCode(1), "internal error");
  EXPECT_EXIT(addresses_.give_back(begin + kUnit, kUnit), testing::ExitedWithCode(1), "internal error");
}

// The oracle: one flag per unit, searched from the beginning.
class UnitModel {
 public:
  explicit UnitModel(uint64_t units) : taken_(units) {}

  uint64_t take(uint64_t units, uint64_t alignment) {
    for (uint64_t begin = 0; begin + units <= taken_.size(); ++begin) {
      if ((kBegin / kUnit + begin) % alignment != 0) continue;
      uint64_t length = 0;
      while (length < units && !taken_[begin + length]) ++length;
      if (length < units) continue;
      std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>(begin), units, true);
      return kBegin + begin * kUnit;
    }
    return 0;
  }

  void give_back(uint64_t address, uint64_t units) {
    std::fill_n(taken_.begin() + static_cast<std::ptrdiff_t>((address - kBegin) / kUnit), units, false);
  }

  uint32_t free_range_count() const {
    uint32_t count = 0;
    for (size_t i = 0; i < taken_.size(); ++i) count += !taken_[i] && (i == 0 || taken_[i - 1]) ? 1 : 0;
    return count;
  }

 private:
  std::vector<bool> taken_;
};

TEST_F(AddressSpaceTest, does_what_the_simplest_model_does) {
  constexpr uint64_t kUnits = 300;
  initialise(kUnits, kUnits);
  UnitModel model(kUnits);
  Random random(test_seed());
  std::map<uint64_t, uint64_t> taken;
  for (int step = 0; step < 20000; ++step) {
    if (random.below(100) < 55) {
      const uint64_t units = 1 + random.below(random.one_in(4) ? 40 : 5);
      const uint64_t alignment = uint64_t{1} << random.below(6);
      const uint64_t expected = model.take(units, alignment);
      ASSERT_EQ(addresses_.take(units * kUnit, alignment * kUnit), expected) << "step " << step;
      if (expected != 0) taken[expected] = units;
    } else if (!taken.empty()) {
      const auto chosen = std::next(taken.begin(), static_cast<std::ptrdiff_t>(random.below(taken.size())));
      model.give_back(chosen->first, chosen->second);
      addresses_.give_back(chosen->first, chosen->second * kUnit);
      taken.erase(chosen);
    }
    ASSERT_EQ(addresses_.free_range_count(), model.free_range_count()) << "step " << step;
  }
}

}  // namespace
}  // namespace spillway::memory
