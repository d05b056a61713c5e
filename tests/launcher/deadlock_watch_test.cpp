#include "launch/deadlock_watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

namespace spillway::launch {
namespace {

using node::RankState;

class DeadlockWatchTest : public testing::Test {
 protected:
  DeadlockWatchTest() : segment_(node::Segment::create({.rank_count = 3})), watch_(segment_) {
    for (int i = 0; i < 3; ++i) {
      node::RankRecord& record = segment_.rank(i);
      record.world_rank = i;
      record.state = static_cast<uint32_t>(RankState::blocked_receive);
      record.away_threads = 1;
      record.wake_at = 5;
      record.arrivals = 4;
      snprintf(record.waits_for, sizeof record.waits_for, "MPI_Recv from rank %d, tag 7", (i + 1) % 3);
    }
  }

  // Looks `count` times, an interval apart; whether one of the looks found a deadlock.
  bool look(int count) {
    bool found = false;
    for (int i = 0; i < count; ++i) found = watch_.is_still(now_ns_ += DeadlockWatch::kIntervalNs) || found;
    return found;
  }

  void set_state(int rank, RankState state) { segment_.rank(rank).state = static_cast<uint32_t>(state); }

  node::Segment segment_;
  DeadlockWatch watch_;
  uint64_t now_ns_ = 1;
};

TEST_F(DeadlockWatchTest, finds_that_all_are_blocked_for_a_second) {
  EXPECT_FALSE(look(4));
  EXPECT_TRUE(look(1));
}

TEST_F(DeadlockWatchTest, counts_finished_ranks_out) {
  set_state(0, RankState::finished);
  EXPECT_TRUE(look(6));
}

TEST_F(DeadlockWatchTest, sees_no_deadlock_while_a_rank_can_go_on) {
  for (RankState state :
       {RankState::running, RankState::ready, RankState::loading, RankState::delegated, RankState::absent}) {
    set_state(1, state);
    EXPECT_FALSE(look(8)) << static_cast<int>(state);
  }
}

TEST_F(DeadlockWatchTest, sees_no_deadlock_while_news_is_on_its_way) {
  segment_.rank(2).arrivals = 5;
  EXPECT_FALSE(look(8));
}

TEST_F(DeadlockWatchTest, sees_no_deadlock_while_ranks_move) {
  for (int i = 0; i < 8; ++i) {
    ++segment_.rank(i % 3).doorbell;
    EXPECT_FALSE(look(3));
  }
}

TEST_F(DeadlockWatchTest, sees_no_deadlock_while_another_thread_is_outside_of_mpi_or_in_the_library) {
  segment_.rank(1).other_threads = 1;
  EXPECT_FALSE(look(8));
  segment_.rank(1).away_threads = 2;
  EXPECT_TRUE(look(6));
  segment_.rank(1).library_calls = 1;
  EXPECT_FALSE(look(8));
}

TEST_F(DeadlockWatchTest, sees_no_deadlock_while_a_thread_of_a_blocked_rank_computes) {
  segment_.rank(1).pid = getpid();
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(look(1));
    const clock_t begin = clock();
    while (clock() - begin < CLOCKS_PER_SEC / 20) continue;
  }
  EXPECT_TRUE(look(6));
}

TEST_F(DeadlockWatchTest, sees_that_nobody_waits_when_all_have_finished) {
  EXPECT_EQ(watch_.waiting_ranks(), 3u);
  for (int i = 0; i < 3; ++i) set_state(i, RankState::finished);
  EXPECT_TRUE(look(8));
  EXPECT_EQ(watch_.waiting_ranks(), 0u);
}

TEST_F(DeadlockWatchTest, is_not_still_while_anything_outside_changes) {
  for (uint64_t outside = 0; outside < 8; ++outside)
    EXPECT_FALSE(watch_.is_still(now_ns_ += DeadlockWatch::kIntervalNs, outside));
  EXPECT_TRUE(watch_.is_unchanged(7));
  EXPECT_FALSE(watch_.is_unchanged(8));
  ++segment_.rank(1).doorbell;
  EXPECT_FALSE(watch_.is_unchanged(7));
}

TEST_F(DeadlockWatchTest, says_who_waits_for_what) {
  set_state(0, RankState::finished);
  EXPECT_EQ(watch_.who_waits(),
            "  rank 1 waits for MPI_Recv from rank 2, tag 7\n  rank 2 waits for MPI_Recv from rank 0, tag 7\n");
}

}  // namespace
}  // namespace spillway::launch
