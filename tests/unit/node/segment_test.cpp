#include "node/segment.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "forked_ranks.h"

namespace spillway::node {
namespace {

SegmentConfig config_of(uint32_t ranks) {
  SegmentConfig config;
  config.rank_count = ranks;
  config.slot_count = 2;
  config.budget_bytes = 64 << 20;
  return config;
}

TEST(SegmentTest, shows_the_same_memory_in_every_mapping) {
  Segment mine = Segment::create(config_of(3));
  const Segment other = mapped_again(mine);
  ASSERT_TRUE(other);
  mine.rank(2).resident_bytes = 42;
  EXPECT_EQ(other.rank(2).resident_bytes, 42u);
  EXPECT_EQ(other.header().rank_count, 3u);
  EXPECT_EQ(other.header().free_slots, 2u);
  EXPECT_EQ(other.rank(1).mailbox_head, kNoIndex);
  EXPECT_EQ(other.rank(1).world_rank, -1);
}

TEST(SegmentTest, parts_do_not_overlap) {
  const Segment segment = Segment::create(config_of(1000));
  const SegmentHeader& header = segment.header();
  EXPECT_GE(header.ranks_offset, sizeof(SegmentHeader));
  EXPECT_GE(header.cells_offset, header.ranks_offset + 1000 * sizeof(RankRecord));
  EXPECT_GE(header.memory_pool_offset, header.cells_offset + header.cell_count * kCellBytes);
  EXPECT_GE(header.spill_pool_offset, header.memory_pool_offset + pool_table_bytes(header.memory_chunk_count));
  EXPECT_GE(header.chunks_offset, header.spill_pool_offset + pool_table_bytes(header.spill_chunk_count));
  EXPECT_GE(header.segment_bytes, header.chunks_offset + header.memory_chunk_count * kMemoryChunkBytes);
}

TEST(SegmentTest, takes_memory_only_for_what_is_used) {
  SegmentConfig config = config_of(64);
  config.budget_bytes = 1ull << 40;
  const Segment segment = Segment::create(config);
  struct stat status {};
  ASSERT_EQ(fstat(segment.descriptor(), &status), 0);
  EXPECT_GT(status.st_size, 1ll << 39);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
}

class ForeignSegmentTest : public testing::Test {
 protected:
  // Attaches after `change` was made to the header, and returns what is wrong.
  template <typename Change>
  std::string problem_after(Change change) {
    change(segment_.header());
    std::string problem;
    const Segment attached = Segment::attach(dup(segment_.descriptor()), problem);
    EXPECT_EQ(static_cast<bool>(attached), problem.empty());
    return problem;
  }

  Segment segment_ = Segment::create(config_of(2));
};

TEST_F(ForeignSegmentTest, is_accepted_unchanged) {
  EXPECT_EQ(problem_after([](SegmentHeader&) {}), "");
}

TEST_F(ForeignSegmentTest, is_refused_with_another_version) {
  EXPECT_NE(problem_after([](SegmentHeader& header) { ++header.version; }).find("another version of Spillway"),
            std::string::npos);
}

TEST_F(ForeignSegmentTest, is_refused_with_another_magic_number) {
  EXPECT_NE(problem_after([](SegmentHeader& header) { header.magic = 1; }), "");
}

TEST_F(ForeignSegmentTest, is_refused_with_another_size_than_its_own) {
  EXPECT_NE(problem_after([](SegmentHeader& header) { header.segment_bytes += 4096; }), "");
}

TEST_F(ForeignSegmentTest, is_refused_when_shorter_than_a_header) {
  std::string problem;
  const int descriptor = memfd_create("short", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(descriptor, 16), 0);
  EXPECT_FALSE(Segment::attach(descriptor, problem));
  EXPECT_NE(problem, "");
}

TEST_F(ForeignSegmentTest, closes_the_descriptor_that_it_refuses) {
  segment_.header().version = 99;
  const int descriptor = dup(segment_.descriptor());
  std::string problem;
  { const Segment refused = Segment::attach(descriptor, problem); }
  EXPECT_EQ(fcntl(descriptor, F_GETFD), -1);
}

TEST(NodeLockTest, survives_an_owner_that_dies_with_it) {
  ForkedRanks ranks(config_of(1));
  ranks.start(0, [](Segment segment) {
    pthread_mutex_lock(&segment.header().lock);
    _exit(0);
  });
  ranks.reap(0);
  for (int i = 0; i < 2; ++i)
    NodeLock lock(ranks.segment().header());  // the first finds it abandoned, the second whole again
}

TEST(NodeLockTest, lets_one_process_in_at_a_time) {
  constexpr uint32_t kProcesses = 4;
  constexpr uint32_t kRounds = 20000;
  ForkedRanks ranks(config_of(1));
  for (uint32_t i = 0; i < kProcesses; ++i)
    ranks.start(i, [](Segment segment) {
      auto& counter = segment.rank(0).statistics.yields;  // changed by a load and a store: lost updates would show
      for (uint32_t round = 0; round < kRounds; ++round) {
        NodeLock lock(segment.header());
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      }
    });
  ASSERT_TRUE(ranks.join(30));
  EXPECT_EQ(ranks.segment().rank(0).statistics.yields, uint64_t{kProcesses} * kRounds);
}

}  // namespace
}  // namespace spillway::node
