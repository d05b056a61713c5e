#include "node/critical_section.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "forked_ranks.h"
#include "simulated_rank.h"

namespace spillway::node {
namespace {

SegmentConfig config_of(uint32_t ranks, uint32_t slots) {
  SegmentConfig config;
  config.rank_count = ranks;
  config.slot_count = slots;
  config.budget_bytes = 1 << 30;
  return config;
}

CriticalResult try_to_enter(CriticalSection& section) {
  return section.enter([] {});
}

void enter(CriticalSection& section) { SPILLWAY_CHECK(try_to_enter(section) == CriticalResult::done); }
void leave(CriticalSection& section) { SPILLWAY_CHECK(section.exit() == CriticalResult::done); }

struct Inside {
  std::atomic<uint32_t> now, entered;
  std::atomic<bool> first_is_in;
  std::atomic<uint32_t> order[8];
};

TEST(CriticalSectionTest, one_rank_is_inside_at_a_time_under_any_number_of_slots) {
  for (uint32_t slots : {1u, 2u, 6u}) {
    auto& inside = shared_with_children<Inside>();
    ForkedRanks ranks(config_of(6, slots));
    for (uint32_t i = 0; i < 6; ++i)
      ranks.start(i, [&, i](Segment segment) {
        SimulatedRank rank(std::move(segment), i);
        CriticalSection section(rank.self, rank.scheduler);
        rank.scheduler.acquire_slot();
        for (int round = 0; round < 100; ++round) {
          enter(section);
          SPILLWAY_CHECK(++inside.now == 1);
          if (round % 10 == 0) rank.scheduler.yield(100000);  // gives its slot up inside
          SPILLWAY_CHECK(--inside.now == 0);
          leave(section);
        }
        retire_rank(rank.self.segment(), i);
      });
    ASSERT_TRUE(ranks.join(60));
    EXPECT_EQ(ranks.segment().header().critical_rank, kNoIndex);
    EXPECT_EQ(broken_invariant(ranks.segment()), "");
  }
}

TEST(CriticalSectionTest, lets_ranks_in_by_the_order_in_which_they_came_and_gives_their_slots_to_others) {
  auto& inside = shared_with_children<Inside>();
  ForkedRanks ranks(config_of(4, 2));  // rank 0 inside has one slot, the others come one after the other in the second
  for (uint32_t i = 0; i < 4; ++i)
    ranks.start(i, [&, i](Segment segment) {
      SimulatedRank rank(std::move(segment), i);
      CriticalSection section(rank.self, rank.scheduler);
      while (inside.entered < i || (i > 0 && !inside.first_is_in)) usleep(1000);
      if (i > 1)
        while (rank.self.peer(i - 1).critical_ticket == 0) usleep(1000);
      rank.scheduler.acquire_slot();
      if (i > 0) ++inside.entered;
      enter(section);
      if (i == 0) {
        ++inside.entered;
        inside.first_is_in = true;
        for (uint32_t other = 1; other < 4; ++other)
          while (rank.self.peer(other).critical_ticket == 0) usleep(1000);
      }
      inside.order[inside.now++] = i;
      leave(section);
      retire_rank(rank.self.segment(), i);
    });
  ASSERT_TRUE(ranks.join(30));
  for (uint32_t i = 0; i < 4; ++i) EXPECT_EQ(inside.order[i], i);
}

TEST(CriticalSectionTest, rank_that_waits_uses_no_processor_time) {
  auto& inside = shared_with_children<Inside>();
  ForkedRanks ranks(config_of(2, 2));
  ranks.start(0, [&](Segment segment) {
    SimulatedRank rank(std::move(segment), 0);
    CriticalSection section(rank.self, rank.scheduler);
    rank.scheduler.acquire_slot();
    enter(section);
    inside.first_is_in = true;
    usleep(300000);
    leave(section);
    retire_rank(rank.self.segment(), 0);
  });
  ranks.start(1, [&](Segment segment) {
    SimulatedRank rank(std::move(segment), 1);
    CriticalSection section(rank.self, rank.scheduler);
    rank.scheduler.acquire_slot();
    while (!inside.first_is_in) usleep(1000);
    const uint64_t cpu_before = base::thread_cpu_ns();
    enter(section);
    SPILLWAY_CHECK(base::thread_cpu_ns() - cpu_before < 50000000);
    leave(section);
    retire_rank(rank.self.segment(), 1);
  });
  ASSERT_TRUE(ranks.join(30));
}

TEST(CriticalSectionTest, refuses_to_enter_twice_and_to_leave_from_outside) {
  Segment segment = Segment::create(config_of(2, 2));
  SimulatedRank rank(mapped_again(segment), 0), other(mapped_again(segment), 1);
  CriticalSection section(rank.self, rank.scheduler), of_other(other.self, other.scheduler);
  rank.use_in_this_thread();
  rank.scheduler.acquire_slot();
  EXPECT_EQ(section.exit(), CriticalResult::not_inside);
  EXPECT_EQ(try_to_enter(section), CriticalResult::done);
  EXPECT_EQ(try_to_enter(section), CriticalResult::already_inside);
  EXPECT_EQ(of_other.exit(), CriticalResult::not_inside);
  EXPECT_EQ(section.exit(), CriticalResult::done);
  EXPECT_EQ(section.exit(), CriticalResult::not_inside);
}

TEST(CriticalSectionTest, rank_that_ends_inside_leaves_it_to_the_next) {
  auto& inside = shared_with_children<Inside>();
  ForkedRanks ranks(config_of(2, 1));
  ranks.start(0, [&](Segment segment) {
    SimulatedRank rank(std::move(segment), 0);
    CriticalSection section(rank.self, rank.scheduler);
    rank.scheduler.acquire_slot();
    enter(section);
    inside.first_is_in = true;
    while (rank.self.peer(1).critical_ticket == 0) rank.scheduler.yield(1000000);
    retire_rank(rank.self.segment(), 0);
  });
  ranks.start(1, [&](Segment segment) {
    SimulatedRank rank(std::move(segment), 1);
    CriticalSection section(rank.self, rank.scheduler);
    while (!inside.first_is_in) usleep(1000);
    rank.scheduler.acquire_slot();
    enter(section);
    leave(section);
    retire_rank(rank.self.segment(), 1);
  });
  ASSERT_TRUE(ranks.join(30));
}

}  // namespace
}  // namespace spillway::node
