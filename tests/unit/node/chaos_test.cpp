// Random schedules of ranks that are processes: they allocate, free, block, wake each other, yield, are inside the MPI
// library, and leave.
//
// What is checked all the time: no more ranks run than there are slots; whoever runs has all its memory; the ledger's
// sums hold; the budget holds. That everybody ends is the check for starvation, lost wake-ups and ranks that stop each
// other.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "forked_ranks.h"
#include "seed.h"
#include "simulated_rank.h"

namespace spillway::node {
namespace {

constexpr uint64_t kMiB = 1 << 20;

struct Plan {
  uint32_t ranks = 8;
  uint32_t slots = 2;
  uint64_t budget_bytes = 40 * kMiB;
  uint64_t rank_bytes_max = 16 * kMiB;
  uint64_t rounds = 60;
  uint64_t seed = 0;
};

struct Observed {
  std::atomic<uint32_t> running, running_most;
};

class ChaosRank {
 public:
  ChaosRank(Segment segment, uint32_t index, const Plan& plan, Observed& observed)
      : rank_(std::move(segment), index),
        index_(index),
        plan_(plan),
        observed_(observed),
        random_(plan.seed * 1000 + index) {}

  void live() {
    rank_.unload_time_us = static_cast<useconds_t>(random_.below(300));
    rank_.scheduler.acquire_slot();
    for (uint64_t round = 1; round <= plan_.rounds; ++round) {
      change_memory();
      compute();
      if (random_.one_in(6)) rank_.scheduler.yield(random_.one_in(2) ? 0 : 50000);
      if (random_.one_in(8)) call_library();
      rank_.notify(receiver_of(round));
      rank_.wait_for_news(round, random_.one_in(2) ? RankState::blocked_receive : RankState::blocked_collective);
      compute();
    }
    rank_.free_all();
    retire_rank(rank_.self.segment(), index_);
  }

 private:
  // Everybody hears from exactly one rank in each round, so that nobody waits for news that never come.
  uint32_t receiver_of(uint64_t round) const {
    std::vector<uint32_t> order(plan_.ranks);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 engine(plan_.seed * 7919 + round);
    std::shuffle(order.begin(), order.end(), engine);
    return order[index_];
  }

  void change_memory() {
    const uint64_t wanted = (1 + random_.below(4 * plan_.rank_bytes_max / kMiB)) * kMiB / 4;
    while (wanted + rank_.self.record().managed_bytes > plan_.rank_bytes_max) rank_.free_any(random_.below(1000));
    if (random_.one_in(3)) rank_.free_any(random_.below(1000));
    rank_.allocate(wanted);
  }

  void compute() {
    const uint32_t now = ++observed_.running;
    SPILLWAY_CHECK(now <= plan_.slots);
    uint32_t most = observed_.running_most;
    while (now > most && !observed_.running_most.compare_exchange_weak(most, now)) {
    }
    check_memory();
    if (random_.one_in(4)) usleep(static_cast<useconds_t>(random_.below(500)));
    check_memory();
    --observed_.running;
  }

  void check_memory() {
    const RankRecord& me = rank_.self.record();
    SPILLWAY_CHECK(rank_.self.state() == RankState::running);
    SPILLWAY_CHECK(me.resident_bytes == me.managed_bytes);
    SPILLWAY_CHECK(me.resident_bytes == rank_.resident_bytes());
    SPILLWAY_CHECK(rank_.self.header().resident_bytes <= plan_.budget_bytes);
    const std::string broken = broken_invariant(rank_.self.segment());
    if (!broken.empty()) base::fatal("%s", broken.c_str());
  }

  void call_library() {
    rank_.scheduler.release_slot(RankState::delegated);
    usleep(static_cast<useconds_t>(random_.below(300)));
    rank_.scheduler.acquire_slot();
  }

  SimulatedRank rank_;
  uint32_t index_;
  const Plan& plan_;
  Observed& observed_;
  Random random_;
};

void run(const Plan& plan) {
  SegmentConfig config;
  config.rank_count = plan.ranks;
  config.slot_count = plan.slots;
  config.budget_bytes = plan.budget_bytes;
  config.cpu_count = plan.seed % 2 == 0 ? 1 : 64;  // with and without a look for news before sleeping
  auto& observed = shared_with_children<Observed>();
  ForkedRanks ranks(config);
  for (uint32_t i = 0; i < plan.ranks; ++i)
    ranks.start(i, [&plan, &observed, i](Segment segment) { ChaosRank(std::move(segment), i, plan, observed).live(); });
  ASSERT_TRUE(ranks.join(30));
  const SegmentHeader& header = ranks.segment().header();
  EXPECT_EQ(header.resident_bytes, 0u);
  EXPECT_EQ(header.loading_ranks, 0u);
  EXPECT_EQ(header.free_slots, plan.slots);
  EXPECT_EQ(header.finished_ranks, plan.ranks);
  EXPECT_LE(header.peak_bytes, plan.budget_bytes);
  EXPECT_EQ(broken_invariant(ranks.segment()), "");
}

class ChaosTest : public testing::TestWithParam<uint32_t> {};

TEST_P(ChaosTest, ends_and_keeps_every_promise_with_these_slots) {
  Plan plan;
  plan.slots = GetParam();
  plan.seed = test_seed();
  run(plan);
}

TEST_P(ChaosTest, ends_when_hardly_more_than_one_rank_fits) {
  Plan plan;
  plan.slots = GetParam();
  plan.budget_bytes = 18 * kMiB;
  plan.rounds = 25;
  plan.seed = test_seed();
  run(plan);
}

TEST_P(ChaosTest, ends_when_everything_fits) {
  Plan plan;
  plan.slots = GetParam();
  plan.budget_bytes = 256 * kMiB;
  plan.seed = test_seed();
  run(plan);
}

INSTANTIATE_TEST_SUITE_P(, ChaosTest, testing::Values(1, 2, 4, 8),
                         [](const auto& parameter) { return "slots_" + std::to_string(parameter.param); });

}  // namespace
}  // namespace spillway::node
