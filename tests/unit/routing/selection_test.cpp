#include "routing/selection.h"

#include <gtest/gtest.h>

#include <sstream>

namespace spillway::routing {
namespace {

TEST(Selection, takes_the_first_rule_that_fits_and_a_chain_when_none_does) {
  const Selection selection({{2, 100, Broadcast::flat}, {8, 100, Broadcast::binomial}, {2, 500, Broadcast::chain}});
  EXPECT_EQ(selection.choose(2, 100), Broadcast::flat);
  EXPECT_EQ(selection.choose(3, 100), Broadcast::binomial);
  EXPECT_EQ(selection.choose(2, 101), Broadcast::chain);
  EXPECT_EQ(selection.choose(9, 0), Broadcast::chain);
}

TEST(Selection, of_no_rules_of_its_own_sends_long_data_in_a_chain_and_short_ones_in_few_steps) {
  const Selection selection;
  EXPECT_EQ(selection.choose(4, 256 << 20), Broadcast::chain);
  EXPECT_EQ(selection.choose(4, 8), Broadcast::flat);
  EXPECT_EQ(selection.choose(500, 8), Broadcast::binomial);
}

TEST(Selection, is_read_as_it_was_written) {
  const Selection written({{2, 100, Broadcast::scatter_allgather}, {UINT32_MAX, UINT64_MAX, Broadcast::binomial}});
  std::istringstream text(written.text() + " 7");
  const Selection read = read_selection(text);
  EXPECT_EQ(read.choose(2, 100), Broadcast::scatter_allgather);
  EXPECT_EQ(read.choose(2, 101), Broadcast::binomial);
  int next = 0;
  text >> next;
  EXPECT_EQ(next, 7);
}

TEST(Selection, cannot_be_read_from_anything_else) {
  for (const char* wrong : {"", "x", "1", "1 2 3", "1 2 3 ring", "2 2 3 flat"}) {
    std::istringstream text(wrong);
    read_selection(text);
    EXPECT_TRUE(text.fail()) << wrong;
  }
}

}  // namespace
}  // namespace spillway::routing
