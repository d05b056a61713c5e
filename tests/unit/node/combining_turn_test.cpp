#include "node/combining_turn.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "forked_ranks.h"

namespace spillway::node {
namespace {

constexpr uint32_t kRanks = 6;

class CombiningTurnTest : public testing::Test {
 protected:
  static Segment made() {
    SegmentConfig config;
    config.rank_count = kRanks;
    return Segment::create(config);
  }

  LocalRank rank(uint32_t index) const { return LocalRank(mapped_again(segment_), index); }

 private:
  Segment segment_ = made();
};

TEST_F(CombiningTurnTest, is_one_rank_s_of_those_that_found_all_there) {
  LocalRank first = rank(0), second = rank(1), third = rank(2);
  CombiningTurn one(first, 8, 2), two(second, 8, 2);
  EXPECT_TRUE(two.take());
  EXPECT_FALSE(one.take());
  EXPECT_FALSE(two.take());
}

TEST_F(CombiningTurnTest, is_of_one_operation) {
  LocalRank first = rank(0), second = rank(1), third = rank(2);
  CombiningTurn one(first, 8, 2), other_tag(second, 8, 4), other_context(third, 12, 2);
  EXPECT_TRUE(one.take());
  EXPECT_TRUE(other_tag.take());
  EXPECT_TRUE(other_context.take());
}

TEST_F(CombiningTurnTest, leaves_nothing_behind) {
  LocalRank self = rank(3);
  for (int round = 0; round < 3; ++round) {
    CombiningTurn turn(self, 8, 2);
    EXPECT_TRUE(turn.take());
  }
  EXPECT_EQ(self.record().combining_context, 0u);
}

// As ranks do: each contributes, then looks whether all are there.
TEST_F(CombiningTurnTest, is_taken_once_in_every_operation_whoever_comes_last) {
  constexpr int kOperations = 2000;
  std::vector<std::atomic<uint32_t>> come(kOperations), taken(kOperations);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kRanks; ++i)
    threads.emplace_back([&, i] {
      LocalRank self = rank(i);
      for (int operation = 0; operation < kOperations; ++operation) {
        CombiningTurn turn(self, 8, operation);
        const auto at = static_cast<size_t>(operation);
        come[at] += 1;
        if (i % 2 == 0) std::this_thread::yield();
        if (come[at] == kRanks && turn.take()) taken[at] += 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<uint32_t>& times : taken) ASSERT_EQ(times, 1u);
}

}  // namespace
}  // namespace spillway::node
