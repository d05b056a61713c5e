#include "mpi/rank_groups.h"

#include <gtest/gtest.h>

namespace spillway::mpi {
namespace {

TEST(RankGroupsTest, are_in_the_order_of_their_first_ranks) {
  const RankGroups groups({7, 7, 2, 2, 2, 9});
  ASSERT_EQ(groups.count(), 3);
  EXPECT_EQ(groups.ranks(0), (std::vector<int>{0, 1}));
  EXPECT_EQ(groups.ranks(1), (std::vector<int>{2, 3, 4}));
  EXPECT_EQ(groups.first(2), 5);
  EXPECT_EQ(groups.last(1), 4);
  EXPECT_EQ(groups.of(4), 1);
  EXPECT_TRUE(groups.are_contiguous());
}

TEST(RankGroupsTest, need_not_be_contiguous) {
  EXPECT_FALSE(RankGroups({0, 1, 0}).are_contiguous());
  EXPECT_FALSE(RankGroups({3, 1, 1, 2, 3, 2}).are_contiguous());
  const RankGroups groups({3, 1, 1, 2, 3, 2});
  EXPECT_EQ(groups.ranks(0), (std::vector<int>{0, 4}));
  EXPECT_EQ(groups.ranks(2), (std::vector<int>{3, 5}));
  EXPECT_EQ(groups.others(0), (std::vector<int>{1, 2, 3, 5}));
}

TEST(RankGroupsTest, may_be_one_of_all) {
  const RankGroups groups = RankGroups::one(4);
  ASSERT_EQ(groups.count(), 1);
  EXPECT_EQ(groups.ranks(0), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(groups.others(0).empty());
  EXPECT_TRUE(groups.are_contiguous());
}

}  // namespace
}  // namespace spillway::mpi
