#include "launch/stillness_vote.h"

#include <gtest/gtest.h>

namespace spillway::launch {
namespace {

Stillness still(uint64_t sent, uint64_t received, uint32_t waiting = 1) {
  std::string lines;
  for (uint32_t i = 0; i < waiting; ++i) lines += "  rank " + std::to_string(i) + " waits\n";
  return Stillness{sent, received, waiting, lines};
}

class StillnessVoteTest : public testing::Test {
 protected:
  // Node 0 has sent three frames to node 1, and that one to node 0.
  void say_all() {
    vote_.take(0, 0, still(3, 1));
    vote_.take(1, 0, still(1, 3));
  }

  StillnessVote vote_{2};
};

TEST_F(StillnessVoteTest, asks_once_when_all_are_still_and_nothing_is_on_its_way) {
  vote_.take(0, 0, still(3, 1));
  EXPECT_FALSE(vote_.round_to_ask());
  vote_.take(1, 0, still(1, 3));
  EXPECT_EQ(vote_.round_to_ask(), 1u);
  EXPECT_FALSE(vote_.round_to_ask());
  EXPECT_FALSE(vote_.is_deadlock());
}

TEST_F(StillnessVoteTest, asks_nobody_while_a_frame_is_on_its_way) {
  vote_.take(0, 0, still(4, 1));
  vote_.take(1, 0, still(1, 3));
  EXPECT_FALSE(vote_.round_to_ask());
}

TEST_F(StillnessVoteTest, is_sure_when_all_have_confirmed) {
  say_all();
  const uint32_t round = *vote_.round_to_ask();
  vote_.take(0, round, still(3, 1));
  EXPECT_FALSE(vote_.is_deadlock());
  vote_.take(1, round, still(1, 3));
  EXPECT_TRUE(vote_.is_deadlock());
}

TEST_F(StillnessVoteTest, begins_again_when_one_has_gone_on) {
  say_all();
  const uint32_t round = *vote_.round_to_ask();
  vote_.take(0, round, still(3, 1));
  vote_.take(1, round, std::nullopt);
  EXPECT_FALSE(vote_.is_deadlock());
  EXPECT_FALSE(vote_.round_to_ask());
  vote_.take(1, 0, still(1, 3));
  EXPECT_EQ(vote_.round_to_ask(), round + 1);
  vote_.take(1, round + 1, still(1, 3));
  EXPECT_FALSE(vote_.is_deadlock());  // node 0 has confirmed an older round
  vote_.take(0, round + 1, still(3, 1));
  EXPECT_TRUE(vote_.is_deadlock());
}

// Node 0 has taken a message and sent another one between its two answers, and the sums do not show it.
TEST_F(StillnessVoteTest, is_not_deceived_by_frames_that_cancel_out) {
  vote_.take(0, 0, still(3, 1));
  vote_.take(1, 0, still(1, 3));
  const uint32_t round = *vote_.round_to_ask();
  vote_.take(1, round, still(1, 3));
  vote_.take(0, round, still(4, 2));
  EXPECT_FALSE(vote_.is_deadlock());
}

TEST_F(StillnessVoteTest, answers_of_older_rounds_change_nothing) {
  say_all();
  const uint32_t first = *vote_.round_to_ask();
  vote_.take(0, 0, std::nullopt);
  vote_.take(0, 0, still(3, 1));
  const uint32_t second = *vote_.round_to_ask();
  vote_.take(0, first, still(9, 9));
  vote_.take(1, first, std::nullopt);
  vote_.take(0, second, still(3, 1));
  vote_.take(1, second, still(1, 3));
  EXPECT_TRUE(vote_.is_deadlock());
}

TEST_F(StillnessVoteTest, is_no_deadlock_when_nobody_waits) {
  vote_.take(0, 0, still(0, 0, 0));
  vote_.take(1, 0, still(0, 0, 0));
  const uint32_t round = *vote_.round_to_ask();
  vote_.take(0, round, still(0, 0, 0));
  vote_.take(1, round, still(0, 0, 0));
  EXPECT_FALSE(vote_.is_deadlock());
}

TEST_F(StillnessVoteTest, names_the_first_ranks_that_wait_and_counts_the_others) {
  vote_.take(0, 0, still(0, 0, 2));
  vote_.take(1, 0, still(0, 0, 1));
  EXPECT_EQ(vote_.who_waits(), "  rank 0 waits\n  rank 1 waits\n  rank 0 waits");
  vote_.take(0, 0, still(0, 0, 32));
  const std::string text = vote_.who_waits();
  EXPECT_TRUE(text.ends_with("  rank 31 waits\n  and 1 more ranks")) << text;
}

TEST(Stillness, is_read_as_it_was_written) {
  const auto read = Stillness::read(still(5, 6, 2).text());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->sent_frames, 5u);
  EXPECT_EQ(read->received_frames, 6u);
  EXPECT_EQ(read->waiting_ranks, 2u);
  EXPECT_EQ(read->who_waits, "  rank 0 waits\n  rank 1 waits\n");
  EXPECT_FALSE(Stillness::read("").has_value());
}

}  // namespace
}  // namespace spillway::launch
