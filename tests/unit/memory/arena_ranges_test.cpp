// What programs ask for ranges of their own memory while they run: load, unload, discard, advise; and its report.
#include <gtest/gtest.h>
#include <ucontext.h>

#include "arena_fixture.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kPage = kPageBytes;

class ArenaRangesTest : public ArenaTest {
 protected:
  uint64_t unload_range(const void* address, uint64_t bytes) {
    UnloadResult result;
    EXPECT_EQ(arena_.unload_range(address, bytes, result), RangeResult::done);
    EXPECT_EQ(result.released_bytes, 0u);  // the rank runs: its charge stays
    return result.written_bytes;
  }

  // Filled, and unloaded once, so that it is mapped from the file.
  unsigned char* allocate_unloaded(uint64_t bytes, uint64_t seed) {
    unsigned char* memory = allocate(bytes);
    fill(memory, bytes, seed);
    unload_and_charge_again();
    return memory;
  }
};

// Runs `body` on a stack of the given memory, as a fiber does.
void run_on_stack(unsigned char* stack, uint64_t bytes, void (*body)()) {
  static ucontext_t caller, fiber;
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = bytes;
  fiber.uc_link = &caller;
  makecontext(&fiber, body, 0);
  swapcontext(&caller, &fiber);
}

TEST_F(ArenaRangesTest, unloads_nothing_of_what_the_caller_has_its_stack_in) {
  static Arena* arena;
  static unsigned char* memory;
  static RangeResult result;
  arena = &arena_;
  memory = allocate(4 * kMiB);
  fill(memory, 2 * kMiB, 1);
  run_on_stack(memory + 2 * kMiB, 2 * kMiB, [] {
    UnloadResult unloaded;
    result = arena->unload_range(memory, kMiB, unloaded);
  });
  EXPECT_EQ(result, RangeResult::pinned);
  EXPECT_EQ(bytes_in_state(memory, 2 * kMiB, PageState::dirty), 2 * kMiB);
  unload_range(memory, 4 * kMiB);
  EXPECT_TRUE(is_filled(memory, 2 * kMiB, 1));
}

TEST_F(ArenaRangesTest, unloads_an_allocation_and_keeps_its_charge) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 1);
  EXPECT_EQ(unload_range(memory, 4 * kMiB), 4 * kMiB);
  EXPECT_EQ(Account::resident, 4 * kMiB);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::absent), 4 * kMiB);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 1));
}

TEST_F(ArenaRangesTest, writes_nothing_more_for_what_was_unloaded_before) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 1);
  unload_range(memory, 4 * kMiB);
  const UnloadResult result = unload();
  EXPECT_EQ(result.written_bytes, 0u);
  EXPECT_EQ(result.released_bytes, 4 * kMiB);
  EXPECT_EQ(Account::resident, 0u);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 1));
}

TEST_F(ArenaRangesTest, what_is_unloaded_is_in_the_file_when_the_call_returns) {
  constexpr uint64_t kBytes = 12 * kMiB;
  unsigned char* memory = allocate_unloaded(kBytes, 0);
  for (int round = 1; round <= 30; ++round) {
    fill(memory, kBytes, round);
    const std::vector<unsigned char> last(memory + kBytes - kPage, memory + kBytes);
    unload_range(memory, kBytes);
    ASSERT_EQ(memcmp(memory + kBytes - kPage, last.data(), kPage), 0) << round;  // at once
    ASSERT_TRUE(is_filled(memory, kBytes, round)) << round;
  }
}

TEST_F(ArenaRangesTest, unloads_no_more_than_the_pages_that_the_range_touches) {
  unsigned char* memory = allocate_unloaded(4 * kMiB, 2);
  fill(memory, 4 * kMiB, 3);
  EXPECT_EQ(unload_range(memory + kMiB + 5, 2 * kPage), 3 * kPage);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::absent), 3 * kPage);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::dirty), 4 * kMiB - 3 * kPage);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 3));
}

TEST_F(ArenaRangesTest, first_unload_of_a_part_keeps_the_rest) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 4);
  unload_range(memory + kMiB, kMiB);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 4));
  fill(memory, 4 * kMiB, 5);
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 5));
}

TEST_F(ArenaRangesTest, loads_what_was_unloaded) {
  unsigned char* memory = allocate_unloaded(4 * kMiB, 6);
  ASSERT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::absent), 4 * kMiB);
  EXPECT_EQ(arena_.load_range(memory, 4 * kMiB), RangeResult::done);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::clean), 4 * kMiB);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 6));
}

TEST_F(ArenaRangesTest, loading_keeps_what_was_written_since) {
  unsigned char* memory = allocate_unloaded(4 * kMiB, 6);
  fill(memory, kMiB, 7);
  EXPECT_EQ(arena_.load_range(memory, 4 * kMiB), RangeResult::done);
  EXPECT_TRUE(is_filled(memory, kMiB, 7));
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::dirty), kMiB);
}

TEST_F(ArenaRangesTest, never_writes_what_was_discarded) {
  unsigned char* fresh = allocate(4 * kMiB);
  fill(fresh, 4 * kMiB, 8);
  EXPECT_EQ(arena_.discard_range(fresh, 4 * kMiB), RangeResult::done);
  EXPECT_EQ(unload_and_charge_again().written_bytes, 0u);
  unsigned char* mapped = allocate_unloaded(4 * kMiB, 8);
  fill(mapped, 4 * kMiB, 9);
  EXPECT_EQ(arena_.discard_range(mapped, 4 * kMiB), RangeResult::done);
  EXPECT_EQ(unload_and_charge_again().written_bytes, 0u);
  fill(mapped, 4 * kMiB, 10);
  EXPECT_EQ(unload_and_charge_again().written_bytes, 4 * kMiB);
  EXPECT_TRUE(is_filled(mapped, 4 * kMiB, 10));
}

TEST_F(ArenaRangesTest, discards_only_pages_that_lie_wholly_in_the_range) {
  for (const bool is_mapped : {false, true}) {
    unsigned char* memory = is_mapped ? allocate_unloaded(kMiB, 11) : allocate(kMiB);
    fill(memory, kMiB, 12);
    EXPECT_EQ(arena_.discard_range(memory + 10, 3 * kPage), RangeResult::done);
    EXPECT_EQ(bytes_in_state(memory, kMiB, PageState::absent), 2 * kPage);
    EXPECT_EQ(arena_.discard_range(memory + 100, kPage), RangeResult::done);
    EXPECT_EQ(bytes_in_state(memory, kMiB, PageState::absent), 2 * kPage);
    unload_and_charge_again();
    std::vector<unsigned char> expected(kMiB);
    fill(expected.data(), kMiB, 12);
    EXPECT_EQ(memcmp(memory, expected.data(), kPage), 0);
    EXPECT_EQ(memcmp(memory + 3 * kPage, expected.data() + 3 * kPage, kMiB - 3 * kPage), 0);
  }
}

TEST_F(ArenaRangesTest, refuses_ranges_outside_of_one_allocation) {
  unsigned char* memory = allocate(kMiB);
  unsigned char* freed = allocate(kMiB);
  arena_.free(freed);
  UnloadResult result;
  int on_stack = 0;
  EXPECT_EQ(arena_.load_range(memory, kMiB), RangeResult::done);
  EXPECT_EQ(arena_.load_range(memory, 0), RangeResult::not_managed);
  EXPECT_EQ(arena_.load_range(memory, kMiB + 1), RangeResult::not_managed);
  EXPECT_EQ(arena_.load_range(memory + 1, ~size_t{0}), RangeResult::not_managed);
  EXPECT_EQ(arena_.load_range(&on_stack, sizeof on_stack), RangeResult::not_managed);
  EXPECT_EQ(arena_.unload_range(freed, kPage, result), RangeResult::not_managed);
  EXPECT_EQ(arena_.discard_range(freed, kPage), RangeResult::not_managed);
}

TEST_F(ArenaRangesTest, cold_memory_goes_first) {
  unsigned char* kept = allocate(kMiB);
  unsigned char* cold = allocate(kMiB);
  fill(kept, kMiB, 1);
  fill(cold, kMiB, 2);
  EXPECT_EQ(arena_.advise_range(cold, 1, Advice::cold), RangeResult::done);
  EXPECT_EQ(unload(kMiB).released_bytes, kMiB);
  EXPECT_EQ(bytes_in_state(kept, kMiB, PageState::dirty), kMiB);
  EXPECT_EQ(bytes_in_state(cold, kMiB, PageState::absent), kMiB);
  EXPECT_TRUE(is_filled(cold, kMiB, 2));
  charge_all();
  for (int round = 0; round < 3; ++round) {
    fill(cold, kMiB, 2);
    unload();
    EXPECT_EQ(arena_.expected_bytes(), round == 0 ? 0 : kMiB) << "the other one, which was rewritten";
    charge_all();
    fill(kept, kMiB, 1);
    arena_.load_expected(Expected::used);
    EXPECT_EQ(bytes_in_state(cold, kMiB, PageState::absent), kMiB);
  }
  EXPECT_EQ(arena_.advise_range(cold, 1, Advice::normal), RangeResult::done);
  EXPECT_EQ(unload(kMiB).released_bytes, kMiB);
  EXPECT_EQ(bytes_in_state(kept, kMiB, PageState::absent), kMiB);
}

TEST_F(ArenaRangesTest, of_what_is_touched_at_random_no_more_than_that_is_read) {
  unsigned char* memory = allocate_unloaded(4 * kMiB, 1);
  EXPECT_EQ(arena_.advise_range(memory, 4 * kMiB, Advice::random), RangeResult::done);
  for (int round = 0; round < 2; ++round) {
    for (uint64_t at = 0; at < 4 * kMiB; at += kMiB) EXPECT_NE(memory[at + kPage * 77], 0);
    EXPECT_EQ(unload_and_charge_again().loaded_bytes, 4 * kPage);
  }
  EXPECT_EQ(arena_.advise_range(memory, 4 * kMiB, Advice::normal), RangeResult::done);
  for (uint64_t at = 0; at < 4 * kMiB; at += kMiB) EXPECT_NE(memory[at + kPage * 77], 0);
  EXPECT_GT(unload_and_charge_again().loaded_bytes, 4 * kPage);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 1));
}

TEST_F(ArenaRangesTest, what_is_going_to_be_rewritten_is_loaded_at_once_for_the_first_time) {
  unsigned char* memory = allocate(4 * kMiB);
  fill(memory, 4 * kMiB, 1);
  unload();
  EXPECT_EQ(arena_.expected_bytes(), 0u);
  EXPECT_EQ(arena_.advise_range(memory, 4 * kMiB, Advice::rewritten), RangeResult::done);
  EXPECT_EQ(arena_.expected_bytes(), 4 * kMiB);
  charge_all();
  arena_.load_expected(Expected::rewritten);
  EXPECT_EQ(bytes_in_state(memory, 4 * kMiB, PageState::dirty), 4 * kMiB);
  EXPECT_TRUE(is_filled(memory, 4 * kMiB, 1));
}

TEST_F(ArenaRangesTest, advice_ends_with_the_allocation) {
  MemoryAccount account = Account::hooks();
  account.spare_limit = [] { return 64 * kMiB; };
  Arena arena{kAddressBytes};
  arena.attach(account, base::SpillDirectories(directory_.path()));
  auto* first = static_cast<unsigned char*>(arena.allocate(kMiB, 1));
  fill(first, kMiB, 1);
  EXPECT_EQ(arena.advise_range(first, kMiB, Advice::rewritten), RangeResult::done);
  arena.free(first);
  ASSERT_EQ(arena.allocate(kMiB, 1), first) << "it was spare";
  fill(first, kMiB, 2);
  arena.unload(kEverything);
  EXPECT_EQ(arena.expected_bytes(), 0u);
}

TEST_F(ArenaRangesTest, reports_what_was_moved_of_each_allocation) {
  constexpr uint64_t kLarge = 40 * kMiB;  // of several regions
  unsigned char* large = allocate(kLarge);
  unsigned char* small = allocate(kMiB);
  fill(large, kLarge, 1);
  fill(small, kMiB, 2);
  AllocationReport reports[3];
  EXPECT_EQ(arena_.report(reports, 3), 2u);
  EXPECT_EQ(reports[0].begin, reinterpret_cast<uint64_t>(large));
  EXPECT_EQ(reports[0].bytes, kLarge);
  EXPECT_EQ(reports[0].resident_bytes, kLarge);
  EXPECT_EQ(reports[0].written_bytes, 0u);
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(large, kLarge, 1));
  small[0] ^= 1;
  unload_range(large, kLarge / 2);
  unload_range(small, kMiB);
  EXPECT_EQ(arena_.report(reports, 1), 2u);
  EXPECT_EQ(reports[0].resident_bytes, kLarge / 2);
  EXPECT_EQ(reports[0].written_bytes, kLarge);
  EXPECT_EQ(reports[0].loaded_bytes, kLarge / 2);
  EXPECT_EQ(arena_.report(reports, 3), 2u);
  EXPECT_EQ(reports[1].begin, reinterpret_cast<uint64_t>(small));
  EXPECT_EQ(reports[1].written_bytes, kMiB + kPage);
  arena_.free(small);
  EXPECT_EQ(arena_.report(nullptr, 0), 1u);
}

TEST(ArenaWithoutStorageTest, unloads_no_range) {
  Arena arena{kAddressBytes};
  void* memory = arena.allocate(kMiB, 1);
  UnloadResult result;
  EXPECT_EQ(arena.unload_range(memory, kMiB, result), RangeResult::no_storage);
  EXPECT_EQ(arena.load_range(memory, kMiB), RangeResult::done);
  EXPECT_EQ(arena.discard_range(memory, kMiB), RangeResult::done);
  EXPECT_TRUE(is_zero(static_cast<unsigned char*>(memory), kMiB));
}

}  // namespace
}  // namespace spillway::memory
