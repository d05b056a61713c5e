#include "node/scheduler.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "forked_ranks.h"
#include "node/slots.h"
#include "simulated_rank.h"

namespace spillway::node {
namespace {

constexpr uint64_t kMiB = 1 << 20;

SegmentConfig config_of(uint32_t ranks, uint32_t slots, uint64_t budget_bytes = 1 << 30) {
  SegmentConfig config;
  config.rank_count = ranks;
  config.slot_count = slots;
  config.budget_bytes = budget_bytes;
  return config;
}

void set_state(RankRecord& rank, RankState state) { rank.state = static_cast<uint32_t>(state); }
RankState state_of(const RankRecord& rank) { return static_cast<RankState>(rank.state.load()); }

struct Running {
  std::atomic<uint32_t> now, most;
  std::atomic<uint64_t> turns;

  void enter() {
    const uint32_t entered = ++now;
    uint32_t seen = most;
    while (entered > seen && !most.compare_exchange_weak(seen, entered)) {
    }
  }
};

TEST(SchedulerTest, never_runs_more_ranks_than_slots) {
  for (uint32_t slots : {1u, 2u, 3u}) {
    auto& running = shared_with_children<Running>();
    ForkedRanks ranks(config_of(6, slots));
    for (uint32_t i = 0; i < 6; ++i)
      ranks.start(i, [&, i](Segment segment) {
        SimulatedRank rank(std::move(segment), i);
        rank.scheduler.acquire_slot();
        for (uint64_t round = 1; round <= 100; ++round) {
          running.enter();
          if (round % 10 == 0) usleep(100);
          --running.now;
          rank.notify((i + 1) % 6);
          rank.wait_for_news(round);
        }
        retire_rank(rank.self.segment(), i);
      });
    ASSERT_TRUE(ranks.join(30));
    EXPECT_LE(running.most, slots);
    EXPECT_EQ(ranks.segment().header().free_slots, slots);
    EXPECT_EQ(broken_invariant(ranks.segment()), "");
  }
}

TEST(SchedulerTest, runs_as_many_ranks_as_there_are_slots) {
  auto& running = shared_with_children<Running>();
  ForkedRanks ranks(config_of(4, 2));
  for (uint32_t i = 0; i < 4; ++i)
    ranks.start(i, [&, i](Segment segment) {
      SimulatedRank rank(std::move(segment), i);
      rank.scheduler.acquire_slot();
      running.enter();
      for (int waited = 0; running.most < 2 && waited < 5000; ++waited) usleep(1000);
      --running.now;
      retire_rank(rank.self.segment(), i);
    });
  ASSERT_TRUE(ranks.join(30));
  EXPECT_EQ(running.most, 2u);
}

// One slot, held by rank 0; the others are put in line by hand, so that the choice can be looked at alone.
class ChoiceTest : public testing::Test {
 protected:
  ChoiceTest() : segment_(Segment::create(config_of(4, 1))), holder_(mapped_again(segment_), 0) {
    holder_.scheduler.acquire_slot();
  }

  void get_in_line(uint32_t index, uint64_t resident, uint64_t managed) {
    RankRecord& rank = segment_.rank(index);
    rank.resident_bytes = resident;
    rank.managed_bytes = managed;
    set_state(rank, RankState::ready);
  }

  // Who gets the slot when rank 0 gives it up.
  uint32_t next() {
    holder_.scheduler.release_slot(RankState::blocked_receive);
    for (uint32_t i = 0; i < 4; ++i)
      if (state_of(segment_.rank(i)) == RankState::running) return i;
    return kNoIndex;
  }

  Segment segment_;
  SimulatedRank holder_;
};

TEST_F(ChoiceTest, prefers_the_rank_with_the_highest_share_in_memory) {
  get_in_line(1, 10, 100);
  get_in_line(2, 50, 60);
  get_in_line(3, 500, 1000);
  EXPECT_EQ(next(), 2u);
}

TEST_F(ChoiceTest, counts_a_rank_without_memory_as_wholly_resident) {
  get_in_line(1, 99, 100);
  get_in_line(2, 0, 0);
  EXPECT_EQ(next(), 2u);
}

TEST_F(ChoiceTest, prefers_whom_too_many_grants_have_passed_over) {
  get_in_line(1, 0, 100);
  get_in_line(2, 100, 100);
  segment_.rank(1).passed_over = 5;  // more often than there are ranks
  EXPECT_EQ(next(), 1u);
  EXPECT_EQ(segment_.rank(1).passed_over, 0u);
  EXPECT_EQ(segment_.rank(2).passed_over, 1u);
}

TEST_F(ChoiceTest, does_not_choose_ranks_that_cannot_go_on) {
  set_state(segment_.rank(1), RankState::blocked_collective);
  set_state(segment_.rank(2), RankState::delegated);
  set_state(segment_.rank(3), RankState::finished);
  EXPECT_EQ(next(), kNoIndex);
  EXPECT_EQ(segment_.header().free_slots, 1u);
}

TEST_F(ChoiceTest, passes_the_slot_of_a_sleeper_on_which_then_has_none_to_give_up) {
  get_in_line(1, 0, 0);
  ASSERT_TRUE(lend_slot_of(segment_, 0));
  EXPECT_FALSE(lend_slot_of(segment_, 0));
  EXPECT_EQ(state_of(segment_.rank(0)), RankState::running);
  EXPECT_EQ(state_of(segment_.rank(1)), RankState::running);
  EXPECT_EQ(broken_invariant(segment_), "");
  get_in_line(2, 0, 0);
  EXPECT_EQ(next(), 1u);  // nobody but who runs already
  EXPECT_EQ(state_of(segment_.rank(2)), RankState::ready);
  EXPECT_EQ(segment_.rank(0).has_lent, 0u);
  EXPECT_EQ(broken_invariant(segment_), "");
}

TEST_F(ChoiceTest, passes_no_slot_on_when_nobody_is_ready) {
  EXPECT_FALSE(lend_slot_of(segment_, 0));
  EXPECT_EQ(segment_.rank(0).has_lent, 0u);
}

TEST_F(ChoiceTest, passes_the_slot_of_whom_waits_for_room_on_to_a_rank_that_needs_none) {
  get_in_line(1, 0, 100);
  set_state(segment_.rank(0), RankState::loading);
  EXPECT_FALSE(lend_slot_while_loading(segment_));
  get_in_line(2, 0, 0);
  ASSERT_TRUE(lend_slot_while_loading(segment_));
  EXPECT_FALSE(lend_slot_while_loading(segment_));
  EXPECT_EQ(state_of(segment_.rank(1)), RankState::ready);
  EXPECT_EQ(state_of(segment_.rank(2)), RankState::running);
  EXPECT_EQ(broken_invariant(segment_), "");
}

TEST_F(ChoiceTest, takes_a_lent_slot_back_that_nobody_has) {
  set_state(segment_.rank(0), RankState::loading);
  get_in_line(1, 0, 0);
  ASSERT_TRUE(lend_slot_while_loading(segment_));
  take_lent_slot_back(segment_.header(), segment_.rank(0));
  EXPECT_EQ(segment_.rank(0).has_lent, 1u);
  set_state(segment_.rank(1), RankState::blocked_receive);
  put_slot_back(segment_.header(), segment_.rank(1));
  take_lent_slot_back(segment_.header(), segment_.rank(0));
  EXPECT_EQ(segment_.rank(0).has_lent, 0u);
  EXPECT_EQ(segment_.header().free_slots, 0u);
}

TEST(SchedulerTest, starves_nobody_when_others_stay_resident) {
  // Ranks 1 and 2 are always wholly resident and always ready again at once; rank 0 has nothing resident when it gets
  // in line.
  constexpr uint64_t kTurns = 60;
  auto& running = shared_with_children<Running>();
  ForkedRanks ranks(config_of(3, 1));
  ranks.segment().rank(0).managed_bytes = 100;
  for (uint32_t i = 1; i < 3; ++i)
    ranks.start(i, [&, i](Segment segment) {
      SimulatedRank rank(std::move(segment), i);
      rank.scheduler.acquire_slot();
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        ++running.turns;
        usleep(500);
        rank.scheduler.release_slot(RankState::blocked_receive);
        rank.scheduler.acquire_slot();
      }
      retire_rank(rank.self.segment(), i);
    });
  ranks.start(0, [&](Segment segment) {
    SimulatedRank rank(std::move(segment), 0);
    while (running.turns < 2) usleep(100);
    const uint64_t before = running.turns;
    rank.scheduler.acquire_slot();
    SPILLWAY_CHECK(running.turns - before <= 12);
    retire_rank(rank.self.segment(), 0);
  });
  EXPECT_TRUE(ranks.join(30));
}

TEST(SchedulerTest, sleeps_until_as_much_news_has_come_as_is_needed) {
  ForkedRanks ranks(config_of(2, 2));
  ranks.start(0, [&](Segment segment) {
    SimulatedRank rank(std::move(segment), 0);
    rank.scheduler.acquire_slot();
    rank.wait_for_news(100);
    SPILLWAY_CHECK(rank.self.record().arrivals == 100);
    retire_rank(rank.self.segment(), 0);
  });
  SimulatedRank sender(mapped_again(ranks.segment()), 1);
  const RankRecord& sleeper = ranks.segment().rank(0);
  while (sleeper.wake_at == 0) usleep(100);
  for (int i = 0; i < 99; ++i) sender.notify(0);
  usleep(20000);
  EXPECT_EQ(sleeper.doorbell, 0u) << "woken although news was missing";
  sender.notify(0);
  EXPECT_TRUE(ranks.join(10));
}

TEST(SchedulerTest, loses_no_wake_up_between_two_ranks_that_answer_each_other) {
  constexpr uint64_t kRounds = 20000;
  ForkedRanks ranks(config_of(2, 2));
  for (uint32_t i = 0; i < 2; ++i)
    ranks.start(i, [i](Segment segment) {
      SimulatedRank rank(std::move(segment), i);
      rank.scheduler.acquire_slot();
      for (uint64_t round = 1; round <= kRounds; ++round) {
        if (i == 0) rank.notify(1);
        rank.wait_for_news(round);
        if (i == 1) rank.notify(0);
      }
      retire_rank(rank.self.segment(), i);
    });
  EXPECT_TRUE(ranks.join(30));
}

TEST(SchedulerTest, uses_no_processor_time_for_a_blocked_rank) {
  ForkedRanks ranks(config_of(2, 1));
  ranks.start(0, [](Segment segment) {
    SimulatedRank rank(std::move(segment), 0);
    rank.scheduler.acquire_slot();
    const uint64_t before = base::thread_cpu_ns();
    rank.wait_for_news(1);
    SPILLWAY_CHECK(base::thread_cpu_ns() - before < 3000000);  // of 300 ms
    retire_rank(rank.self.segment(), 0);
  });
  SimulatedRank other(mapped_again(ranks.segment()), 1);
  usleep(300000);
  other.notify(0);
  EXPECT_TRUE(ranks.join(10));
}

TEST(SchedulerTest, yields_to_a_ready_rank_and_to_nobody_else) {
  Segment segment = Segment::create(config_of(2, 1));
  SimulatedRank rank(mapped_again(segment), 0);
  rank.scheduler.acquire_slot();
  EXPECT_FALSE(rank.scheduler.yield(0));
  std::thread other([&] {
    SimulatedRank second(mapped_again(segment), 1);
    second.scheduler.acquire_slot();
    retire_rank(second.self.segment(), 1);
  });
  while (state_of(segment.rank(1)) != RankState::ready) usleep(100);
  EXPECT_TRUE(rank.scheduler.yield(0));
  other.join();
  EXPECT_EQ(state_of(segment.rank(1)), RankState::finished);
  EXPECT_EQ(rank.self.state(), RankState::running);
}

TEST(SchedulerTest, tells_who_waits_for_room_when_a_rank_that_was_asked_goes_into_the_library) {
  SegmentConfig config = config_of(2, 2);
  config.budget_bytes = 32 * kMiB;
  Segment segment = Segment::create(config);
  SimulatedRank sleeper(mapped_again(segment), 0);
  sleeper.scheduler.acquire_slot();
  sleeper.allocate(20 * kMiB);
  sleeper.scheduler.release_slot(RankState::blocked_collective);
  std::atomic<bool> done = false;
  std::thread loader([&] {
    SimulatedRank rank(mapped_again(segment), 1);
    rank.scheduler.acquire_slot();
    rank.allocate(20 * kMiB);
    done = true;
    retire_rank(rank.self.segment(), 1);
  });
  while (segment.rank(0).evict_wanted == 0) usleep(100);
  usleep(20000);  // it sleeps by now, in the hope for the room that it has asked for
  sleeper.scheduler.enter_library();
  EXPECT_EQ(segment.rank(0).evict_wanted, 0u);
  for (int i = 0; i < 100 && !done; ++i) usleep(50000);
  EXPECT_TRUE(done) << "waits without end for a rank that may wait for it in the library";
  sleeper.scheduler.acquire_slot();
  loader.join();
}

TEST(SchedulerTest, keeps_the_slot_of_a_thread_that_waits_for_room_while_others_of_its_rank_come_and_go) {
  Segment segment = Segment::create(config_of(2, 2, 32 * kMiB));
  std::atomic<bool> has_memory = false;
  std::thread sleeping_rank([&] {
    SimulatedRank rank(mapped_again(segment), 1);
    rank.scheduler.acquire_slot();
    rank.allocate(20 * kMiB);
    has_memory = true;
    rank.wait_for_news(1);
    retire_rank(rank.self.segment(), 1);
  });
  while (!has_memory || state_of(segment.rank(1)) == RankState::running) usleep(100);

  SimulatedRank rank(mapped_again(segment), 0);
  static Scheduler* scheduler;
  static int visits;
  scheduler = &rank.scheduler;
  visits = 0;
  RankHooks hooks = rank.self.hooks();
  hooks.before_sleep = [] {  // another thread of the rank waits in MPI, and comes back
    scheduler->leave(RankState::blocked_receive);
    scheduler->come_back();
    ++visits;
  };
  rank.scheduler.acquire_slot();
  rank.self.set_hooks(hooks);
  rank.scheduler.make_resident(20 * kMiB);
  EXPECT_GE(visits, 1);
  EXPECT_TRUE(rank.scheduler.has_slot());
  EXPECT_EQ(rank.self.state(), RankState::running);
  EXPECT_EQ(segment.header().free_slots, 1u);
  rank.scheduler.release_slot(RankState::blocked_receive);
  EXPECT_EQ(segment.header().free_slots, 2u);
  retire_rank(rank.self.segment(), 0);
  rank.notify(1);
  sleeping_rank.join();
}

TEST(SchedulerTest, counts_the_time_of_unloading_apart_from_that_of_waiting) {
  constexpr uint64_t kUnloadNs = 50000000;
  static SimulatedRank* self;
  Segment segment = Segment::create(config_of(2, 2));
  SimulatedRank rank(mapped_again(segment), 0);
  self = &rank;
  RankHooks hooks = rank.self.hooks();
  hooks.before_sleep = [] { self->notify(0); };
  rank.self.set_hooks(hooks);
  rank.unload_time_us = kUnloadNs / 1000;
  rank.scheduler.acquire_slot();
  rank.allocate(kMiB);
  rank.self.record().evict_wanted = kMiB;
  rank.wait_for_news(1);
  const RankStatistics& statistics = rank.self.record().statistics;
  EXPECT_GE(statistics.unload_ns, kUnloadNs);
  EXPECT_LT(statistics.wait_ns + statistics.ready_ns, kUnloadNs);
}

TEST(LocalRankTest, unloads_nothing_of_a_rank_that_was_pinned_since_it_was_asked) {
  Segment segment = Segment::create(config_of(2, 2));
  SimulatedRank rank(mapped_again(segment), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(kMiB);
  rank.self.record().evict_wanted = kMiB;
  rank.self.record().pins = 1;
  rank.self.attend_and_sleep(rank.self.record().doorbell + 1);
  EXPECT_EQ(rank.resident_bytes(), kMiB);
  EXPECT_EQ(segment.rank(0).resident_bytes, kMiB);
  EXPECT_EQ(segment.rank(0).evict_wanted, 0u);
}

TEST(RetireRankTest, frees_the_slot_of_a_killed_rank_for_one_that_waits) {
  ForkedRanks ranks(config_of(2, 1));
  ranks.start(0, [](Segment segment) {
    SimulatedRank rank(std::move(segment), 0);
    rank.scheduler.acquire_slot();
    rank.allocate(kMiB);
    pause();
  });
  while (ranks.segment().rank(0).resident_bytes == 0) usleep(100);
  ranks.start(1, [](Segment segment) {
    SimulatedRank rank(std::move(segment), 1);
    rank.scheduler.acquire_slot();
    retire_rank(rank.self.segment(), 1);
  });
  while (state_of(ranks.segment().rank(1)) != RankState::ready) usleep(100);
  kill(ranks.pid(0), SIGKILL);
  ranks.reap(0);
  retire_rank(ranks.segment(), 0);
  EXPECT_TRUE(ranks.join(10));
  EXPECT_EQ(ranks.segment().header().resident_bytes, 0u);
  EXPECT_EQ(ranks.segment().header().free_slots, 1u);
  EXPECT_EQ(broken_invariant(ranks.segment()), "");
}

TEST(RetireRankTest, counts_once_however_often_it_is_called) {
  Segment segment = Segment::create(config_of(2, 1));
  SimulatedRank rank(mapped_again(segment), 0);
  rank.scheduler.acquire_slot();
  retire_rank(segment, 0);
  retire_rank(segment, 0);
  EXPECT_EQ(segment.header().free_slots, 1u);
  EXPECT_EQ(segment.header().finished_ranks, 1u);
}

TEST(RetireRankTest, leaves_the_ledger_alone_when_memory_is_freed_later) {
  // Destructors of the program's libraries run after Spillway's own, and free what they have.
  Segment segment = Segment::create(config_of(2, 1));
  SimulatedRank rank(mapped_again(segment), 0);
  rank.scheduler.acquire_slot();
  rank.allocate(kMiB);
  rank.allocate(kMiB);
  retire_rank(segment, 0);
  rank.free_all();
  rank.ledger.charge(kMiB);
  rank.ledger.set_base(kMiB);
  EXPECT_EQ(segment.header().resident_bytes, 0u);
  EXPECT_EQ(segment.header().base_bytes, 0u);
  EXPECT_EQ(broken_invariant(segment), "");
}

}  // namespace
}  // namespace spillway::node
