#include "courier/library_watch.h"

#include "job_fixture.h"

namespace spillway::courier {
namespace {

class LibraryWatchTest : public JobTest {
 protected:
  // As a rank does that begins to wait in the library.
  void enter(uint32_t world_rank) {
    Rank& it = rank(world_rank);
    it.self.record().library_calls.fetch_add(1);
    uint32_t unknown = 0;
    if (!it.self.header().is_library_use_known.compare_exchange_strong(unknown, 1)) return;
    Cell cell{};
    cell.kind = CellKind::in_library;
    it.mailbox.push_to_courier(cell);
  }

  void leave(uint32_t world_rank) { rank(world_rank).self.record().library_calls.fetch_sub(1); }

  std::atomic<uint32_t>& nodes_in_library(uint32_t index) { return node(index).segment.header().nodes_in_library; }
};

TEST_F(LibraryWatchTest, every_node_knows_how_many_others_have_ranks_in_the_library) {
  start_job(3, 2);
  enter(0);
  for (uint32_t other : {1, 2}) EXPECT_TRUE(comes_true([&] { return nodes_in_library(other) == 1; }));
  enter(4);
  enter(5);
  EXPECT_TRUE(comes_true([&] { return nodes_in_library(1) == 2; }));
  EXPECT_TRUE(comes_true([&] { return nodes_in_library(0) == 1; }));
  EXPECT_EQ(nodes_in_library(2), 1u);
  leave(4);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(nodes_in_library(1), 2u) << "there still is another rank";
  leave(0);
  leave(5);
  for (uint32_t index : {0, 1, 2}) EXPECT_TRUE(comes_true([&] { return nodes_in_library(index) == 0; }));
  for (uint32_t index : {0, 2}) EXPECT_EQ(node(index).segment.header().is_library_use_known, 0u);
  enter(1);
  EXPECT_TRUE(comes_true([&] { return nodes_in_library(2) == 1; })) << "again";
}

TEST_F(LibraryWatchTest, what_a_rank_has_in_flight_counts_unless_it_has_finished) {
  start_job(2, 2);
  rank(0).self.record().pins = 1;
  enter(0);
  leave(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_EQ(nodes_in_library(1), 1u);
  rank(0).self.record().state = static_cast<uint32_t>(node::RankState::finished);
  EXPECT_TRUE(comes_true([&] { return nodes_in_library(1) == 0; }));
}

TEST_F(LibraryWatchTest, ranks_that_rest_are_rung_when_a_node_begins) {
  start_job(2, 2);
  rank(2).self.record().rests = 1;
  enter(0);
  EXPECT_TRUE(comes_true([&] { return rank(2).self.record().doorbell == 1; }));
  EXPECT_EQ(rank(2).self.record().rests, 0u);
  EXPECT_EQ(rank(3).self.record().doorbell, 0u) << "it does not rest";
}

TEST_F(LibraryWatchTest, no_use_is_missed_however_often_ranks_come_and_go) {
  start_job(2, 1);
  for (int round = 0; round < 25; ++round) {
    enter(0);
    ASSERT_TRUE(comes_true([&] { return nodes_in_library(1) == 1; })) << round;
    leave(0);
    // About when the courier finds that nobody is there any more.
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + round));
  }
}

}  // namespace
}  // namespace spillway::courier
