// A node of four ranks and a small budget.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "forked_ranks.h"
#include "node/scheduler.h"
#include "simulated_rank.h"

namespace spillway::node {

inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr uint64_t kBudget = 32 * kMiB;
inline constexpr uint64_t kStoreFloor = 2 * kMiB;         // a sixteenth of the budget
inline constexpr uint64_t kAllowance = (20 + 14) * kMiB;  // of four ranks, for what is not the program's data
inline constexpr uint64_t kGrowth = 4 * kMiB;             // of four ranks, kept in reserve

// Rank 0 is the test's own thread; the others are threads that do what a sleeping rank does.
class LedgerTest : public testing::Test {
 protected:
  explicit LedgerTest(uint32_t slots = 1) : segment_(Segment::create(config_of(slots))) {}

  static SegmentConfig config_of(uint32_t slots) {
    SegmentConfig config;
    config.rank_count = 4;
    config.slot_count = slots;
    config.budget_bytes = kBudget;
    return config;
  }

  // A rank that allocates, is prepared, blocks, and is ended by a news.
  template <typename Prepare>
  std::thread prepared_sleeper(uint32_t index, uint64_t bytes, Prepare prepare) {
    std::thread thread([this, index, bytes, prepare] {
      SimulatedRank rank(mapped_again(segment_), index);
      rank.scheduler.acquire_slot();
      for (uint64_t part = 0; part < bytes; part += kMiB) rank.allocate(kMiB);
      prepare(rank);
      rank.wait_for_news(1);
      retire_rank(rank.self.segment(), index);
    });
    while (segment_.rank(index).wake_at == 0) usleep(100);
    return thread;
  }

  std::thread sleeper(uint32_t index, uint64_t bytes, uint32_t pins = 0) {
    return prepared_sleeper(index, bytes, [pins](SimulatedRank& rank) { rank.self.record().pins = pins; });
  }

  // A rank whose threads cannot be stopped for some times.
  std::thread busy_sleeper(uint32_t index, uint64_t bytes, uint32_t refusals, ThreadStop refusal) {
    return prepared_sleeper(index, bytes, [refusals, refusal](SimulatedRank& rank) {
      rank.refusals = refusals;
      rank.refusal = refusal;
      rank.self.record().other_threads = 1;
    });
  }

  void end(SimulatedRank& waker, uint32_t index, std::thread& thread) {
    waker.free_all();
    waker.notify(index);
    waker.scheduler.release_slot(RankState::blocked_receive);
    thread.join();
  }

  uint64_t resident(uint32_t index) const { return segment_.rank(index).resident_bytes; }

  Segment segment_;
};

}  // namespace spillway::node
