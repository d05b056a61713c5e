#include "sort/block_places.h"

#include <gtest/gtest.h>

#include <vector>

namespace spillway::sort {
namespace {

// With two hosts that read: dest.rank.
int rank_of_equation_1(uint64_t counter, int sort_hosts, int tasks_of_host) {
  constexpr int kIoHosts = 2;
  const int number = static_cast<int>(counter);
  return kIoHosts * tasks_of_host + number / sort_hosts % tasks_of_host + number % sort_hosts * tasks_of_host;
}

TEST(BlockPlacesTest, nodes_take_turns_as_in_the_paper_where_ranks_follow_each_other_on_a_node) {
  constexpr int kHosts = 3;
  constexpr int kTasks = 4;
  std::vector<int> sorters;
  std::vector<int> nodes;
  for (int rank = 2 * kTasks; rank < (2 + kHosts) * kTasks; ++rank) {
    sorters.push_back(rank);
    nodes.push_back(rank / kTasks * kTasks);
  }
  const BlockPlaces places(nodes_in_turn(sorters, nodes), 5);
  for (uint64_t block = 0; block < 100; ++block) {
    EXPECT_EQ(places.place_of(block).sorter, rank_of_equation_1(block, kHosts, kTasks)) << block;
    EXPECT_EQ(places.place_of(block).slot, block / (kHosts * kTasks) % 5) << block;
  }
}

TEST(BlockPlacesTest, ranks_that_are_on_nodes_in_turn_stay_as_they_are) {
  EXPECT_EQ(nodes_in_turn({1, 2, 3, 4, 5}, {1, 0, 1, 0, 1}), (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(BlockPlacesTest, nodes_may_have_different_numbers_of_sorters) {
  EXPECT_EQ(nodes_in_turn({3, 4, 5, 6, 7, 8}, {0, 4, 4, 4, 7, 7}), (std::vector<int>{3, 4, 7, 5, 8, 6}));
}

}  // namespace
}  // namespace spillway::sort
