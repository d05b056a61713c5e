// Room for the rank that gets the next slot, before it gets it.
#include <atomic>

#include "ledger_fixture.h"

namespace spillway::node {
namespace {

// Rank 0 computes all the time; what others get, they get ahead of the slot.
class AheadTest : public LedgerTest {
 protected:
  static constexpr uint64_t kAll = kBudget - kStoreFloor;
  static constexpr uint64_t kLong = 3600000000000;  // an hour

  AheadTest() : rank_(mapped_again(segment_), 0) {}

  bool comes_to(uint32_t index, uint64_t bytes) const {
    for (int waited = 0; resident(index) != bytes && waited < 5000; ++waited) usleep(1000);
    return resident(index) == bytes;
  }

  static void wait_for_mistakes() { usleep(50000); }

  SimulatedRank rank_;
};

TEST_F(AheadTest, charges_the_next_rank_while_another_one_computes) {
  std::atomic<uint32_t>* loads_ahead = nullptr;
  std::thread next = prepared_sleeper(1, 10 * kMiB, [&](SimulatedRank& rank) { loads_ahead = &rank.loads_ahead; });
  rank_.scheduler.acquire_slot();
  rank_.allocate(kAll);
  ASSERT_EQ(resident(1), 0u);
  rank_.free_all();
  EXPECT_EQ(resident(1), 0u) << "it is blocked";
  rank_.notify(1);
  EXPECT_TRUE(comes_to(1, 10 * kMiB));
  for (int waited = 0; *loads_ahead == 0 && waited < 5000; ++waited) usleep(1000);
  EXPECT_EQ(*loads_ahead, 1u);
  EXPECT_EQ(segment_.rank(1).state, static_cast<uint32_t>(RankState::ready));
  EXPECT_EQ(broken_invariant(segment_), "");
  end(rank_, 1, next);
}

TEST_F(AheadTest, takes_room_from_blocked_ranks_only_where_that_is_enough) {
  std::thread blocked = sleeper(1, 10 * kMiB);
  std::thread next = sleeper(2, 20 * kMiB);
  rank_.scheduler.acquire_slot();
  segment_.rank(3).last_spell_us = kLong / 1000;
  rank_.allocate(4 * kMiB);
  rank_.allocate(8 * kMiB);
  ASSERT_EQ(resident(2), 8 * kMiB);
  rank_.notify(2);
  wait_for_mistakes();
  EXPECT_EQ(resident(1), 10 * kMiB);
  EXPECT_EQ(resident(2), 8 * kMiB);
  rank_.free_any(0);
  EXPECT_TRUE(comes_to(2, 20 * kMiB));
  EXPECT_EQ(resident(1), 2 * kMiB);
  EXPECT_LE(segment_.header().peak_bytes, kBudget);
  rank_.notify(1);
  end(rank_, 2, next);
  blocked.join();
}

TEST_F(AheadTest, takes_no_room_from_blocked_ranks_where_they_compute_too_little) {
  std::thread blocked = sleeper(1, 10 * kMiB);
  std::thread next = prepared_sleeper(2, 20 * kMiB, [](SimulatedRank& rank) {
    rank.self.record().statistics.unload_ns = kLong;  // since it had its slot
  });
  rank_.scheduler.acquire_slot();
  rank_.allocate(8 * kMiB);
  ASSERT_EQ(resident(2), 12 * kMiB);
  rank_.notify(2);
  wait_for_mistakes();
  EXPECT_EQ(resident(1), 10 * kMiB);
  EXPECT_EQ(resident(2), 12 * kMiB);
  rank_.notify(1);
  end(rank_, 2, next);
  blocked.join();
}

TEST_F(AheadTest, takes_no_room_from_blocked_ranks_for_what_is_only_read) {
  std::thread blocked = sleeper(1, 10 * kMiB);
  std::thread next = prepared_sleeper(2, 20 * kMiB, [](SimulatedRank& rank) { rank.rewritten_bytes = kMiB; });
  rank_.scheduler.acquire_slot();
  segment_.rank(3).last_spell_us = kLong / 1000;
  rank_.allocate(8 * kMiB);
  ASSERT_EQ(resident(2), 12 * kMiB);
  rank_.notify(2);
  wait_for_mistakes();
  EXPECT_EQ(resident(1), 10 * kMiB);
  EXPECT_EQ(resident(2), 12 * kMiB);
  rank_.notify(1);
  end(rank_, 2, next);
  blocked.join();
}

TEST_F(AheadTest, does_not_ask_without_pause_where_threads_cannot_be_stopped) {
  std::thread busy = busy_sleeper(1, 10 * kMiB, ~0u, ThreadStop::not_now);
  std::thread next = sleeper(2, 20 * kMiB);
  rank_.scheduler.acquire_slot();
  segment_.rank(3).last_spell_us = kLong / 1000;
  rank_.allocate(8 * kMiB);
  ASSERT_EQ(resident(2), 12 * kMiB);
  rank_.notify(2);
  wait_for_mistakes();
  EXPECT_GE(segment_.rank(1).statistics.unloads, 1u);
  EXPECT_LE(segment_.rank(1).statistics.unloads, 4u);
  EXPECT_EQ(resident(1), 10 * kMiB);
  rank_.notify(1);
  end(rank_, 2, next);
  busy.join();
}

TEST_F(AheadTest, gives_way_to_the_rank_that_computes_and_does_not_try_again) {
  std::thread next = sleeper(1, 10 * kMiB);
  rank_.scheduler.acquire_slot();
  rank_.allocate(kAll);
  rank_.free_all();
  rank_.notify(1);
  ASSERT_TRUE(comes_to(1, 10 * kMiB));
  rank_.allocate(25 * kMiB);
  EXPECT_EQ(resident(1), kAll - 25 * kMiB);
  rank_.free_all();
  wait_for_mistakes();
  EXPECT_EQ(resident(1), kAll - 25 * kMiB);
  end(rank_, 1, next);
}

}  // namespace
}  // namespace spillway::node
