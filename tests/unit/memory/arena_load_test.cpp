// What is loaded at once, and that nobody loses anything by it.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "arena_fixture.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kBytes = 8 * kMiB;

class ArenaLoadTest : public ArenaTest {
 protected:
  void SetUp() override {
    ArenaTest::SetUp();
    memory_ = allocate(kBytes);
    fill(memory_, kBytes, 0);
    unload_and_charge_again();
  }

  // A phase that changes all, and its end.
  void rewrite(uint64_t seed) {
    fill(memory_, kBytes, seed);
    unload_and_charge_again();
  }

  uint64_t loaded_bytes(Expected expected = Expected::rewritten) {
    arena_.load_expected(expected);
    return bytes_in_state(memory_, kBytes, PageState::dirty);
  }

  uint64_t read_bytes() const { return bytes_in_state(memory_, kBytes, PageState::clean); }

  // Of an unloaded range, what the page cache has.
  static uint64_t cached_bytes(unsigned char* memory, uint64_t bytes) {
    std::vector<unsigned char> pages(bytes / kPageBytes);
    EXPECT_EQ(mincore(memory, bytes, pages.data()), 0);
    return kPageBytes *
           static_cast<uint64_t>(std::count_if(pages.begin(), pages.end(), [](auto page) { return page & 1; }));
  }
  uint64_t cached_bytes() const { return cached_bytes(memory_, kBytes); }

  unsigned char* memory_ = nullptr;
};

TEST_F(ArenaLoadTest, loads_what_was_rewritten_when_it_was_in_memory_last) {
  EXPECT_EQ(loaded_bytes(), 0u) << "how it is used is not known yet";
  for (uint64_t seed = 1; seed < 4; ++seed) {
    rewrite(seed);
    EXPECT_EQ(loaded_bytes(), kBytes);
    EXPECT_TRUE(is_filled(memory_, kBytes, seed));
  }
}

TEST_F(ArenaLoadTest, leaves_what_was_only_read_to_the_kernel_but_ahead_of_the_turn) {
  EXPECT_TRUE(is_filled(memory_, kBytes, 0));
  unload_and_charge_again();
  EXPECT_EQ(loaded_bytes(), 0u);
  EXPECT_EQ(cached_bytes(), 0u);
  EXPECT_EQ(loaded_bytes(Expected::used), 0u);
  EXPECT_EQ(cached_bytes(), kBytes);
  EXPECT_TRUE(is_filled(memory_, kBytes, 0));
  EXPECT_EQ(read_bytes(), kBytes);
  const UnloadResult result = unload_and_charge_again();
  EXPECT_EQ(result.written_bytes, 0u);
  EXPECT_EQ(result.loaded_bytes, kBytes);
}

TEST_F(ArenaLoadTest, loads_nothing_that_was_not_used) {
  unload_and_charge_again();
  EXPECT_EQ(loaded_bytes(Expected::used), 0u);
  EXPECT_EQ(cached_bytes(), 0u);
}

TEST_F(ArenaLoadTest, looks_at_each_part_of_an_allocation) {
  fill(memory_ + 2 * kMiB, 2 * kMiB, 5);
  fill(memory_ + 6 * kMiB, kMiB / 2, 6);  // a quarter of its part
  unload_and_charge_again();
  EXPECT_EQ(loaded_bytes(), 2 * kMiB);
  EXPECT_EQ(bytes_in_state(memory_ + 2 * kMiB, 2 * kMiB, PageState::dirty), 2 * kMiB);
  EXPECT_TRUE(is_filled(memory_ + 2 * kMiB, 2 * kMiB, 5));
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(memory_ + 2 * kMiB, 2 * kMiB, 5));
}

TEST_F(ArenaLoadTest, says_how_much_of_what_is_unloaded_it_would_load) {
  fill(memory_ + 2 * kMiB, 2 * kMiB, 5);
  arena_.unload(~uint64_t{0});
  EXPECT_EQ(arena_.expected_bytes(), 2 * kMiB);
  arena_.mark_all_charged();
  EXPECT_EQ(arena_.expected_bytes(), 0u) << "nothing is unloaded";
}

TEST_F(ArenaLoadTest, learns_at_once_that_it_was_of_no_use) {
  rewrite(1);
  EXPECT_EQ(loaded_bytes(), kBytes);
  EXPECT_TRUE(is_filled(memory_, kBytes, 1));
  unload_and_charge_again();
  EXPECT_EQ(loaded_bytes(), 0u) << "it has only been read";
  rewrite(2);
  EXPECT_EQ(loaded_bytes(), 0u) << "and when it had been rewritten before";
  EXPECT_TRUE(is_filled(memory_, kBytes, 2));
}

TEST_F(ArenaLoadTest, recognizes_phases_that_take_turns) {
  for (uint64_t idle_phases = 1; idle_phases <= 3; ++idle_phases) {
    uint64_t loaded_in_vain = 0, loaded = 0;
    for (uint64_t round = 0; round < 14; ++round) {
      const uint64_t seed = 100 * idle_phases + round;
      const bool is_learned = round >= 6;
      loaded += loaded_bytes() * is_learned;
      rewrite(seed);
      for (uint64_t phase = 0; phase < idle_phases; ++phase) {
        loaded_in_vain += loaded_bytes() * is_learned;
        unload_and_charge_again();
      }
      ASSERT_TRUE(is_filled(memory_, kBytes, seed));
      unload_and_charge_again();  // it has been read: one more phase that does not rewrite
    }
    EXPECT_EQ(loaded, 8 * kBytes) << idle_phases;
    EXPECT_EQ(loaded_in_vain, 0u) << idle_phases;
  }
}

TEST_F(ArenaLoadTest, learns_for_each_allocation) {
  unsigned char* other = allocate(kBytes);
  for (uint64_t seed = 1; seed < 14; ++seed) {
    if (seed % 2 == 0) fill(other, kBytes, seed);
    rewrite(seed);
  }
  arena_.load_expected(Expected::rewritten);
  EXPECT_EQ(bytes_in_state(memory_, kBytes, PageState::dirty), kBytes);
  EXPECT_EQ(bytes_in_state(other, kBytes, PageState::dirty), kBytes);
  rewrite(14);
  arena_.load_expected(Expected::rewritten);
  EXPECT_EQ(bytes_in_state(memory_, kBytes, PageState::dirty), kBytes);
  EXPECT_EQ(bytes_in_state(other, kBytes, PageState::dirty), 0u);
}

TEST_F(ArenaLoadTest, does_not_read_ahead_again_what_nobody_has_read) {
  EXPECT_TRUE(is_filled(memory_, kBytes, 0));
  unload_and_charge_again();
  arena_.load_expected(Expected::used);
  EXPECT_EQ(cached_bytes(), kBytes);
  EXPECT_EQ(unload_and_charge_again().loaded_bytes, kBytes) << "it counts all the same";
  arena_.load_expected(Expected::used);
  EXPECT_EQ(cached_bytes(), 0u);
}

TEST_F(ArenaLoadTest, reads_ahead_what_each_phase_reads) {
  const uint64_t half = kBytes / 2;
  for (int phase = 0; phase < 20; ++phase) {
    unsigned char *read = memory_ + phase % 2 * half, *other = memory_ + (1 - phase % 2) * half;
    arena_.load_expected(Expected::used);
    if (phase >= 8) {
      EXPECT_EQ(cached_bytes(read, half), half) << phase;
      EXPECT_EQ(cached_bytes(other, half), 0u) << phase;
    }
    for (uint64_t at = 0; at < half; at += kPageBytes) EXPECT_NE(read[at], 0);
    unload_and_charge_again();
  }
}

TEST_F(ArenaLoadTest, leaves_what_somebody_has_touched_since) {
  rewrite(1);
  memory_[3 * kMiB] ^= 0xff;
  const unsigned char changed = memory_[3 * kMiB];
  arena_.load_expected(Expected::rewritten);
  EXPECT_EQ(memory_[3 * kMiB], changed);
  EXPECT_EQ(bytes_in_state(memory_, 2 * kMiB, PageState::dirty), 2 * kMiB);
  EXPECT_LT(bytes_in_state(memory_ + 2 * kMiB, 2 * kMiB, PageState::dirty), 2 * kMiB);
}

TEST_F(ArenaLoadTest, knows_nothing_of_an_allocation_that_takes_the_place_of_another) {
  rewrite(1);
  arena_.free(memory_);
  ASSERT_EQ(allocate(kBytes), memory_);
  fill(memory_, kBytes, 2);
  unload_and_charge_again();
  EXPECT_EQ(loaded_bytes(), 0u);
  EXPECT_TRUE(is_filled(memory_, kBytes, 2));
}

TEST_F(ArenaLoadTest, leaves_memory_in_place_that_others_use) {
  rewrite(1);
  static uint64_t used;
  used = reinterpret_cast<uint64_t>(memory_) + kMiB;
  arena_.respect([](uint64_t begin, uint64_t end) { return begin <= used && used < end; });
  EXPECT_EQ(loaded_bytes(), 0u);
  arena_.respect(nullptr);
  EXPECT_EQ(loaded_bytes(), kBytes);
}

TEST_F(ArenaLoadTest, discards_and_unloads_ranges_of_what_was_loaded) {
  rewrite(1);
  ASSERT_EQ(loaded_bytes(), kBytes);
  fill(memory_, kBytes, 2);
  UnloadResult result;
  EXPECT_EQ(arena_.unload_range(memory_, 4 * kMiB, result), RangeResult::done);
  EXPECT_EQ(result.written_bytes, kBytes) << "pieces in the middle of pieces would take mappings without end";
  EXPECT_EQ(bytes_in_state(memory_, kBytes, PageState::absent), kBytes);
  EXPECT_EQ(arena_.discard_range(memory_ + 4 * kMiB, 2 * kMiB), RangeResult::done);
  EXPECT_TRUE(is_zero(memory_ + 4 * kMiB, 2 * kMiB));
  EXPECT_TRUE(is_filled(memory_, 4 * kMiB, 2));
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(memory_, 4 * kMiB, 2));
  EXPECT_TRUE(is_zero(memory_ + 4 * kMiB, 2 * kMiB));
}

TEST_F(ArenaLoadTest, loads_static_data_wherever_it_begins) {
  alignas(kHugePageBytes) static unsigned char memory[8 * kMiB];
  const uint64_t before = 2 * kMiB - 4096;  // the first piece is a page
  unsigned char* const data = memory + before;
  constexpr uint64_t kDataBytes = 6 * kMiB;
  arena_.adopt(data, kDataBytes, Beginning::zeros);
  charge_all();
  fill(data, kDataBytes, 1);
  unload_and_charge_again();
  fill(data, kDataBytes, 2);
  unload_and_charge_again();
  arena_.load_expected(Expected::rewritten);
  EXPECT_EQ(bytes_in_state(data, kDataBytes, PageState::dirty), kDataBytes);
  EXPECT_TRUE(is_filled(data, kDataBytes, 2));
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(data, kDataBytes, 2));
}

}  // namespace
}  // namespace spillway::memory
