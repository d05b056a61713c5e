#include "memory/overwrites.h"

#include <gtest/gtest.h>

#include <map>

#include "arena_fixture.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kLeast = Overwrites::kLeastBytes;

void* at(uint64_t address) { return reinterpret_cast<void*>(address); }

class OverwritesTest : public testing::Test {
 protected:
  // What is overwritten whole between two addresses, by where each part begins.
  std::map<uint64_t, uint64_t> whole_parts(uint64_t begin, uint64_t end) const {
    std::map<uint64_t, uint64_t> parts;
    for (bool is_whole = false; begin < end;) {
      const uint64_t part_end = all_.end_of_part(begin, end, is_whole);
      EXPECT_GT(part_end, begin);
      EXPECT_LE(part_end, end);
      if (part_end <= begin) break;
      if (is_whole) parts[begin] = part_end;
      begin = part_end;
    }
    return parts;
  }

  Overwrites all_;
};

TEST_F(OverwritesTest, are_whole_pages) {
  const Overwrite entry(all_, at(0x100001), 2 * kLeast, true);
  EXPECT_EQ(whole_parts(0, 1 << 24), (std::map<uint64_t, uint64_t>{{0x101000, 0x100000 + 2 * kLeast}}));
}

TEST_F(OverwritesTest, are_parts_of_what_is_asked_for) {
  const Overwrite first(all_, at(0x100000), kLeast, true), second(all_, at(0x200000), kLeast, true);
  EXPECT_EQ(whole_parts(0x101000, 0x201000),
            (std::map<uint64_t, uint64_t>{{0x101000, 0x100000 + kLeast}, {0x200000, 0x201000}}));
  EXPECT_TRUE(whole_parts(0x100000 + kLeast, 0x200000).empty());
}

TEST_F(OverwritesTest, are_kept_where_a_message_may_be_shorter) {
  const Overwrite likely(all_, at(0x100000), kLeast, false), whole(all_, at(0x200000), kLeast, true);
  EXPECT_EQ(whole_parts(0, 1 << 24), (std::map<uint64_t, uint64_t>{{0x200000, 0x200000 + kLeast}}));
  EXPECT_TRUE(all_.overlap(0x100000, 0x101000));
}

TEST_F(OverwritesTest, end_with_their_operation) {
  {
    Overwrite entry(all_, at(0x100000), kLeast, true);
    const Overwrite moved = std::move(entry);
    EXPECT_TRUE(all_.overlap(0, 1 << 24));
  }
  EXPECT_FALSE(all_.overlap(0, 1 << 24));
}

TEST_F(OverwritesTest, leave_little_out) {
  const Overwrite entry(all_, at(0x100000), kLeast - kPageBytes, true);
  EXPECT_FALSE(entry);
  EXPECT_FALSE(all_.overlap(0, 1 << 24));
}

class ArenaOverwriteTest : public ArenaTest {
 protected:
  static constexpr uint64_t kBytes = 8 * kMiB;

  void SetUp() override {
    arena_.heed(all_);
    ArenaTest::SetUp();
    memory_ = allocate(kBytes);
    fill(memory_, kBytes, 0);
  }

  Overwrites all_;
  unsigned char* memory_ = nullptr;
};

TEST_F(ArenaOverwriteTest, are_not_written) {
  {
    const Overwrite entry(all_, memory_ + 2 * kMiB, 3 * kMiB, true);
    EXPECT_EQ(unload_and_charge_again().written_bytes, kBytes - 3 * kMiB);
  }
  EXPECT_TRUE(is_filled(memory_, 2 * kMiB, 0));
  fill(memory_, kBytes, 1);
  {
    const Overwrite entry(all_, memory_ + 2 * kMiB, 3 * kMiB, true);
    EXPECT_EQ(unload_and_charge_again().written_bytes, kBytes - 3 * kMiB);
  }
  fill(memory_ + 2 * kMiB, 3 * kMiB, 2);
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(memory_ + 2 * kMiB, 3 * kMiB, 2));
}

TEST_F(ArenaOverwriteTest, are_written_where_a_message_may_be_shorter) {
  const Overwrite entry(all_, memory_, kBytes, false);
  EXPECT_EQ(unload_and_charge_again().written_bytes, kBytes);
  EXPECT_TRUE(is_filled(memory_, kBytes, 0));
}

TEST_F(ArenaOverwriteTest, are_not_loaded) {
  unload_and_charge_again();
  fill(memory_, kBytes, 1);
  unload_and_charge_again();
  const Overwrite entry(all_, memory_ + 2 * kMiB, 2 * kMiB, false);
  arena_.load_expected(Expected::used);
  EXPECT_EQ(bytes_in_state(memory_, kBytes, PageState::absent), 2 * kMiB);
}

TEST_F(ArenaOverwriteTest, are_renewed_instead_of_loaded) {
  unload_and_charge_again();
  arena_.renew(memory_ + 2 * kMiB + 1, 4 * kMiB);
  EXPECT_TRUE(is_filled(memory_, 2 * kMiB + kPageBytes, 0)) << "a page that is not overwritten whole stays";
  fill(memory_ + 2 * kMiB, 4 * kMiB, 1);
  EXPECT_EQ(bytes_in_state(memory_ + 2 * kMiB, 4 * kMiB, PageState::dirty), 4 * kMiB);
  const UnloadResult result = unload_and_charge_again();
  EXPECT_EQ(result.written_bytes, 4 * kMiB);
  EXPECT_LT(result.loaded_bytes, 4 * kMiB) << "of the pages that were renewed, nothing was read";
  EXPECT_TRUE(is_filled(memory_ + 2 * kMiB, 4 * kMiB, 1));
  EXPECT_TRUE(is_filled(memory_, 2 * kMiB, 0));
  EXPECT_EQ(memory_[kBytes - 1], 1 + (kBytes - 1 + (kBytes - 1) / 4096 * 17) % 255);
}

TEST_F(ArenaOverwriteTest, leave_what_is_in_memory_alone) {
  unload_and_charge_again();
  fill(memory_, kBytes, 1);
  arena_.renew(memory_, kBytes);
  EXPECT_TRUE(is_filled(memory_, kBytes, 1));
}

TEST_F(ArenaOverwriteTest, are_not_brought_in_at_once_next_time) {
  for (uint64_t seed = 1; seed < 4; ++seed) {
    unload_and_charge_again();
    arena_.load_expected(Expected::rewritten);
    EXPECT_EQ(bytes_in_state(memory_, kBytes, PageState::absent), kBytes) << seed;
    arena_.renew(memory_, kBytes);
    fill(memory_, kBytes, seed);
    EXPECT_TRUE(is_filled(memory_, kBytes, seed));
  }
}

TEST_F(ArenaOverwriteTest, take_only_so_many_mappings) {
  constexpr uint64_t kStep = 2 * kLeast, kSteps = 2000;
  unsigned char* large = allocate(kSteps * kStep);
  for (uint64_t i = 0; i < kSteps; ++i) large[i * kStep] = 1;
  for (int round = 0; round < 2; ++round) {  // those that are given up come back
    unload_and_charge_again();
    for (uint64_t i = 0; i < kSteps; ++i) arena_.renew(large + i * kStep, kLeast);
    uint64_t renewed = 0;
    for (uint64_t i = 0; i < kSteps; ++i) renewed += large[i * kStep] == 0 ? 1 : 0;
    EXPECT_EQ(renewed, 1500u);
    for (uint64_t i = 0; i < kSteps; ++i) large[i * kStep] = 1;
  }
  arena_.free(large);
  unload_and_charge_again();
  arena_.renew(memory_, kBytes);
  EXPECT_EQ(memory_[0], 0);
}

TEST_F(ArenaOverwriteTest, may_be_unloaded_in_part) {
  unload_and_charge_again();
  arena_.renew(memory_, 4 * kMiB);
  fill(memory_, 4 * kMiB, 3);
  UnloadResult result;
  ASSERT_EQ(arena_.unload_range(memory_ + kMiB, 2 * kMiB, result), RangeResult::done);
  EXPECT_EQ(bytes_in_state(memory_ + kMiB, 2 * kMiB, PageState::absent), 2 * kMiB);
  EXPECT_TRUE(is_filled(memory_, 4 * kMiB, 3));
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(memory_, 4 * kMiB, 3));
}

}  // namespace
}  // namespace spillway::memory
