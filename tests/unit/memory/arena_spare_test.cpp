// Freed memory that is kept for reuse.
#include <gtest/gtest.h>

#include "arena_fixture.h"

namespace spillway::memory {
namespace {

class SpareTest : public ArenaTest {
 protected:
  void SetUp() override {
    MemoryAccount account = Account::hooks();
    account.spare_limit = [] { return node_has_room ? 1024 * kMiB : 0; };
    node_has_room = true;
    arena_.attach(account, base::SpillDirectories(directory_.path()));
  }

  static inline bool node_has_room = true;
};

TEST_F(SpareTest, freed_memory_is_given_out_again_with_its_pages) {
  unsigned char* first = allocate(3 * kMiB);
  fill(first, 3 * kMiB, 1);
  arena_.free(first);
  EXPECT_EQ(bytes_in_state(first, 3 * kMiB, PageState::dirty), 3 * kMiB);
  EXPECT_EQ(allocate(3 * kMiB - 5), first);
  EXPECT_TRUE(is_filled(first, 3 * kMiB, 1));
  EXPECT_EQ(Account::managed, 3 * kMiB) << "charged once";
}

TEST_F(SpareTest, so_is_what_consists_of_several_regions) {
  unsigned char* first = allocate(40 * kMiB);
  fill(first, 40 * kMiB, 1);
  arena_.free(first);
  EXPECT_EQ(Account::resident, 40 * kMiB);
  EXPECT_EQ(allocate(38 * kMiB), first);
  EXPECT_TRUE(is_filled(first, 40 * kMiB, 1));
  EXPECT_EQ(arena_.usable_bytes(first), 40 * kMiB);
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(first, 40 * kMiB, 1));
  arena_.free(first);
  EXPECT_EQ(Account::managed, 0u) << "what has been unloaded is not kept";
}

TEST_F(SpareTest, memory_asked_for_as_zero_is_zero) {
  unsigned char* first = allocate(3 * kMiB);
  fill(first, 3 * kMiB, 1);
  arena_.free(first);
  void* second = arena_.allocate(3 * kMiB, 1, Contents::zero);
  EXPECT_EQ(second, first);
  EXPECT_TRUE(is_zero(first, 3 * kMiB));
}

TEST_F(SpareTest, stays_charged_until_it_is_dropped) {
  fill(allocate(kMiB), kMiB, 1);
  unsigned char* freed = allocate(2 * kMiB);
  fill(freed, 2 * kMiB, 2);
  arena_.free(freed);
  EXPECT_EQ(Account::managed, 3 * kMiB);
  EXPECT_EQ(Account::resident, 3 * kMiB);
  EXPECT_EQ(arena_.drop_spare(), 2 * kMiB);
  EXPECT_EQ(Account::managed, kMiB);
  EXPECT_EQ(Account::resident, kMiB);
  EXPECT_EQ(bytes_in_state(freed, 2 * kMiB, PageState::absent), 2 * kMiB);
  EXPECT_EQ(arena_.drop_spare(), 0u);
}

TEST_F(SpareTest, goes_first_when_the_rank_unloads_and_is_never_written) {
  unsigned char* kept = allocate(2 * kMiB);
  fill(kept, 2 * kMiB, 1);
  unsigned char* freed = allocate(4 * kMiB);
  fill(freed, 4 * kMiB, 2);
  arena_.free(freed);
  UnloadResult result = unload(4 * kMiB);
  EXPECT_EQ(result.released_bytes, 4 * kMiB);
  EXPECT_EQ(result.freed_bytes, 4 * kMiB);
  EXPECT_EQ(result.written_bytes, 0u);
  result = unload();
  EXPECT_EQ(result.released_bytes, 2 * kMiB);
  EXPECT_EQ(result.freed_bytes, 0u);
  EXPECT_TRUE(is_filled(kept, 2 * kMiB, 1));
}

TEST_F(SpareTest, nothing_is_kept_when_the_node_is_short) {
  unsigned char* memory = allocate(2 * kMiB);
  fill(memory, 2 * kMiB, 1);
  node_has_room = false;
  arena_.free(memory);
  EXPECT_EQ(Account::managed, 0u);
  EXPECT_EQ(bytes_in_state(memory, 2 * kMiB, PageState::absent), 2 * kMiB);
}

TEST_F(SpareTest, all_goes_with_the_next_free_once_the_node_is_short) {
  unsigned char* first = allocate(2 * kMiB);
  unsigned char* second = allocate(kMiB);
  arena_.free(first);
  EXPECT_EQ(Account::managed, 3 * kMiB);
  node_has_room = false;
  arena_.free(second);
  EXPECT_EQ(Account::managed, 0u);
}

TEST_F(SpareTest, memory_that_has_been_in_the_file_is_not_kept) {
  unsigned char* memory = allocate(2 * kMiB);
  fill(memory, 2 * kMiB, 1);
  unload_and_charge_again();
  arena_.free(memory);
  EXPECT_EQ(Account::managed, 0u);
}

TEST_F(SpareTest, serves_neither_much_smaller_allocations_nor_stricter_alignments) {
  unsigned char* first = allocate(kMiB);
  while (reinterpret_cast<uint64_t>(first) % (8 * kMiB) == 0) first = allocate(kMiB);
  unsigned char* large = allocate(9 * kMiB);
  arena_.free(first);
  arena_.free(large);
  EXPECT_NE(allocate(6 * kMiB), large);
  EXPECT_NE(allocate(kMiB, 8 * kMiB), first);
  EXPECT_EQ(allocate(8 * kMiB), large);
  EXPECT_EQ(allocate(kMiB), first);
}

TEST_F(SpareTest, the_oldest_go_when_there_are_too_many_or_they_are_too_large) {
  std::vector<unsigned char*> all;
  for (int i = 0; i < 40; ++i) all.push_back(allocate(kMiB));
  for (unsigned char* memory : all) arena_.free(memory);
  EXPECT_EQ(Account::managed, 16 * kMiB);
  EXPECT_EQ(Account::resident, 16 * kMiB);
  unsigned char* newest = allocate(kMiB);
  EXPECT_GE(newest, all[24]);
  arena_.free(allocate(120 * kMiB));
  EXPECT_LE(Account::managed, (128 + 1) * kMiB);
  arena_.free(allocate(200 * kMiB));
  EXPECT_LE(Account::managed, (128 + 1) * kMiB);
}

TEST_F(SpareTest, survives_random_use_with_contents_and_account_intact) {
  struct Held {
    unsigned char* memory;
    uint64_t bytes;
    uint64_t seed;
  };
  std::vector<Held> held;
  uint64_t random = 12345, bytes_held = 0;
  const auto below = [&](uint64_t bound) {
    return (random = random * 6364136223846793005u + 1442695040888963407u) / 65536 % bound;
  };
  for (uint64_t step = 1; step <= 600; ++step) {
    node_has_room = below(8) != 0;
    if (below(2) == 0 || held.empty()) {
      const uint64_t bytes = kMiB + below(3) * 100 * kKiB;
      held.push_back(Held{allocate(bytes), bytes, step});
      bytes_held += arena_.usable_bytes(held.back().memory);
      fill(held.back().memory, bytes, step);
    } else {
      const size_t i = below(held.size());
      ASSERT_TRUE(is_filled(held[i].memory, held[i].bytes, held[i].seed)) << step;
      bytes_held -= arena_.usable_bytes(held[i].memory);
      arena_.free(held[i].memory);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (below(20) == 0) {
      const UnloadResult result = unload(below(6) * kMiB);
      Account::managed -= result.freed_bytes;
      charge_all();
    }
    ASSERT_GE(Account::managed, bytes_held);
    ASSERT_EQ(Account::managed, arena_.managed_bytes());
  }
  arena_.drop_spare();
  EXPECT_EQ(Account::managed, bytes_held);
}

}  // namespace
}  // namespace spillway::memory
