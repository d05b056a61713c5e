#include "message/chunk_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "message_fixture.h"
#include "seed.h"

namespace spillway::message {
namespace {

constexpr uint64_t kChunks = 640;
constexpr uint64_t kNoLimit = UINT64_MAX >> 1;

// A pool in the tables of a segment's memory pool, which are larger than these tests need.
class ChunkPoolTest : public testing::Test {
 protected:
  std::vector<uint32_t> chunks_of(const ChunkPool::Chain& chain) const {
    std::vector<uint32_t> chunks;
    for (uint32_t chunk = chain.first; chunk != node::kNoIndex; chunk = pool_.next_of(chunk)) chunks.push_back(chunk);
    return chunks;
  }

  uint64_t trim() {
    return pool_.trim([](uint64_t, uint64_t) {});
  }

  node::Segment segment_ = node::Segment::create(message_config(1, 64 * kMiB));
  ChunkPool pool_{segment_, segment_.header().memory_pool_offset, kChunks};
};

TEST_F(ChunkPoolTest, takes_the_lowest_chunks_first) {
  EXPECT_EQ(chunks_of(pool_.take(3, 1, kNoLimit)), (std::vector<uint32_t>{0, 1, 2}));
  const ChunkPool::Chain second = pool_.take(2, 1, kNoLimit);
  EXPECT_EQ(chunks_of(second), (std::vector<uint32_t>{3, 4}));
  pool_.release(0);
  EXPECT_EQ(chunks_of(pool_.take(4, 1, kNoLimit)), (std::vector<uint32_t>{0, 1, 2, 5}));
}

TEST_F(ChunkPoolTest, keeps_a_chain_until_its_last_reader_is_done) {
  const ChunkPool::Chain chain = pool_.take(5, 3, kNoLimit);
  pool_.release(chain.first);
  pool_.release(chain.first);
  EXPECT_EQ(pool_.used_chunks(), 5u);
  pool_.release(chain.first);
  EXPECT_EQ(pool_.used_chunks(), 0u);
}

TEST_F(ChunkPoolTest, has_nothing_when_there_are_not_enough) {
  EXPECT_EQ(pool_.take(kChunks + 1, 1, kNoLimit).first, node::kNoIndex);
  const ChunkPool::Chain all = pool_.take(kChunks, 1, kNoLimit);
  EXPECT_EQ(chunks_of(all).size(), kChunks);
  EXPECT_EQ(pool_.take(1, 1, kNoLimit).first, node::kNoIndex);
  pool_.release(all.first);
  EXPECT_NE(pool_.take(kChunks, 1, kNoLimit).first, node::kNoIndex);
}

TEST_F(ChunkPoolTest, takes_no_more_fresh_chunks_than_allowed) {
  const ChunkPool::Chain first = pool_.take(4, 1, kNoLimit);
  EXPECT_EQ(first.fresh_count, 4u);
  pool_.release(first.first);
  EXPECT_EQ(pool_.fresh_needed(6), 2u);
  EXPECT_EQ(pool_.take(6, 1, 1).first, node::kNoIndex);
  const ChunkPool::Chain second = pool_.take(6, 1, 2);
  EXPECT_NE(second.first, node::kNoIndex);
  EXPECT_EQ(second.fresh_count, 2u);
}

TEST_F(ChunkPoolTest, gives_free_chunks_back_in_runs) {
  const ChunkPool::Chain low = pool_.take(3, 1, kNoLimit);
  const ChunkPool::Chain kept = pool_.take(2, 1, kNoLimit);
  const ChunkPool::Chain high = pool_.take(100, 1, kNoLimit);
  pool_.release(low.first);
  pool_.release(high.first);
  std::vector<std::pair<uint64_t, uint64_t>> runs;
  EXPECT_EQ(pool_.trim([&](uint64_t first, uint64_t count) { runs.emplace_back(first, count); }), 103u);
  EXPECT_EQ(runs, (std::vector<std::pair<uint64_t, uint64_t>>{{0, 3}, {5, 100}}));
  EXPECT_EQ(trim(), 0u);
  EXPECT_EQ(pool_.fresh_needed(3), 3u);
  EXPECT_EQ(pool_.used_chunks(), 2u);
  pool_.release(kept.first);
}

TEST_F(ChunkPoolTest, ends_the_process_when_a_chain_is_released_too_often) {
  const ChunkPool::Chain chain = pool_.take(1, 1, kNoLimit);
  pool_.release(chain.first);
  EXPECT_EXIT(pool_.release(chain.first), testing::ExitedWithCode(1), "internal error");
}

TEST_F(ChunkPoolTest, does_what_a_set_of_numbers_does) {
  Random random(test_seed());
  std::set<uint32_t> used;
  std::set<uint32_t> with_memory;
  std::map<uint32_t, std::pair<std::vector<uint32_t>, uint32_t>> chains;  // by first chunk: chunks, readers
  for (int step = 0; step < 20000; ++step) {
    const uint64_t dice = random.below(100);
    if (dice < 50) {
      const uint64_t count = 1 + random.below(random.one_in(5) ? 200 : 10);
      const auto readers = static_cast<uint32_t>(1 + random.below(3));
      const uint64_t limit = random.one_in(2) ? kNoLimit : random.below(count + 1);
      const uint64_t needed = count > with_memory.size() - used.size() ? count - (with_memory.size() - used.size()) : 0;
      ASSERT_EQ(pool_.fresh_needed(count), needed);
      const ChunkPool::Chain chain = pool_.take(count, readers, limit);
      ASSERT_EQ(chain.first != node::kNoIndex, used.size() + count <= kChunks && needed <= limit) << "step " << step;
      if (chain.first == node::kNoIndex) continue;
      const std::vector<uint32_t> chunks = chunks_of(chain);
      ASSERT_EQ(chunks.size(), count);
      uint64_t fresh = 0;
      for (uint32_t chunk : chunks) {
        ASSERT_LT(chunk, kChunks);
        ASSERT_TRUE(used.insert(chunk).second) << "given out twice";
        fresh += with_memory.insert(chunk).second ? 1 : 0;
      }
      ASSERT_EQ(chain.fresh_count, fresh);
      ASSERT_LE(fresh, limit);
      chains[chain.first] = {chunks, readers};
    } else if (dice < 98) {
      if (chains.empty()) continue;
      const auto chosen = std::next(chains.begin(), static_cast<std::ptrdiff_t>(random.below(chains.size())));
      pool_.release(chosen->first);
      if (--chosen->second.second != 0) continue;
      for (uint32_t chunk : chosen->second.first) used.erase(chunk);
      chains.erase(chosen);
    } else {
      ASSERT_EQ(trim(), with_memory.size() - used.size());
      with_memory = used;
    }
    ASSERT_EQ(pool_.used_chunks(), used.size());
  }
}

class ChunkPoolMoveTest : public ChunkPoolTest {
 protected:
  ChunkPool::Chain written(uint64_t count, uint32_t references = 1) {
    const ChunkPool::Chain chain = pool_.take(count, references, kNoLimit);
    pool_.close(chain.first);
    return chain;
  }

  bool finish_move(const ChunkPool::Move& move, uint32_t target) {
    return pool_.finish_move(move, target, [this](uint32_t chunk) { given_back_.push_back(chunk); });
  }

  std::vector<uint32_t> given_back_;
};

TEST_F(ChunkPoolMoveTest, a_moved_chain_frees_its_chunks_and_keeps_its_name) {
  const ChunkPool::Chain chain = written(5);
  const ChunkPool::Move move = pool_.begin_move(0);
  EXPECT_EQ(move.first, chain.first);
  EXPECT_EQ(move.count, 5u);
  ASSERT_TRUE(finish_move(move, 77));
  EXPECT_EQ(pool_.used_chunks(), 0u);
  EXPECT_EQ(pool_.open(chain.first), 77u);
  EXPECT_EQ(given_back_, std::vector<uint32_t>{chain.first});
  EXPECT_EQ(trim(), 4u) << "the first one's memory was given back by the mover";
  const auto others = chunks_of(pool_.take(kChunks - 1, 1, kNoLimit));
  ASSERT_EQ(others.size(), kChunks - 1);
  EXPECT_EQ(std::count(others.begin(), others.end(), chain.first), 0) << "it still names the message";
  EXPECT_EQ(pool_.take(1, 1, kNoLimit).first, node::kNoIndex);
  EXPECT_EQ(pool_.release(chain.first), 77u);
  EXPECT_EQ(chunks_of(pool_.take(1, 1, kNoLimit)), std::vector<uint32_t>{chain.first});
}

// Else the memory that is given back is already another message's.
TEST_F(ChunkPoolMoveTest, nobody_takes_the_first_chunk_before_its_memory_is_given_back) {
  const ChunkPool::Chain chain = written(2);
  const ChunkPool::Move move = pool_.begin_move(0);
  std::atomic<bool> is_taken = false;
  std::thread next_user;
  ASSERT_TRUE(pool_.finish_move(move, 77, [&](uint32_t) {
    next_user = std::thread([&] {
      EXPECT_EQ(pool_.release(chain.first), 77u);
      EXPECT_EQ(pool_.take(1, 1, kNoLimit).first, chain.first);
      is_taken = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(is_taken);
  }));
  next_user.join();
  EXPECT_TRUE(is_taken);
}

TEST_F(ChunkPoolMoveTest, finds_one_chain_after_the_other_and_each_once) {
  const ChunkPool::Chain first = written(3);
  const ChunkPool::Chain second = written(1);
  const ChunkPool::Chain third = written(100);
  std::vector<uint32_t> moved;
  for (ChunkPool::Move move = pool_.begin_move(0); move.first != node::kNoIndex;
       move = pool_.begin_move(move.first + 1)) {
    moved.push_back(move.first);
    ASSERT_TRUE(finish_move(move, 1));
  }
  EXPECT_EQ(moved, (std::vector<uint32_t>{first.first, second.first, third.first}));
  EXPECT_EQ(pool_.begin_move(0).first, node::kNoIndex);
}

TEST_F(ChunkPoolMoveTest, leaves_chains_alone_that_are_written_or_read) {
  const ChunkPool::Chain being_written = pool_.take(2, 1, kNoLimit);
  EXPECT_EQ(pool_.begin_move(0).first, node::kNoIndex);
  pool_.close(being_written.first);
  EXPECT_EQ(pool_.open(being_written.first), node::kNoIndex);
  EXPECT_EQ(pool_.begin_move(0).first, node::kNoIndex);
  pool_.close(being_written.first);
  EXPECT_EQ(pool_.begin_move(0).first, being_written.first);
}

TEST_F(ChunkPoolMoveTest, gives_the_move_up_for_a_reader_that_came_meanwhile) {
  const ChunkPool::Chain chain = written(2);
  const ChunkPool::Move move = pool_.begin_move(0);
  EXPECT_EQ(pool_.open(chain.first), node::kNoIndex);
  EXPECT_FALSE(finish_move(move, 5));
  pool_.close(chain.first);
  EXPECT_EQ(pool_.open(chain.first), node::kNoIndex) << "it is where it was";
  EXPECT_EQ(pool_.used_chunks(), 2u);
  EXPECT_EQ(pool_.release(chain.first), node::kNoIndex);
  EXPECT_EQ(pool_.used_chunks(), 0u);
}

TEST_F(ChunkPoolMoveTest, frees_a_chain_that_its_last_reader_gave_up_meanwhile) {
  const ChunkPool::Chain chain = written(2, 2);
  const ChunkPool::Move move = pool_.begin_move(0);
  EXPECT_EQ(pool_.release(chain.first), node::kNoIndex);
  EXPECT_EQ(pool_.release(chain.first), node::kNoIndex);
  EXPECT_EQ(pool_.used_chunks(), 2u) << "the mover still reads it";
  EXPECT_FALSE(finish_move(move, 5));
  EXPECT_TRUE(given_back_.empty());
  EXPECT_EQ(pool_.used_chunks(), 0u);
}

}  // namespace
}  // namespace spillway::message
