// Ranks as they are in a job, but for MPI: processes with real memory, spill files, messages and one budget, in random
// use.
//
// The oracle is a formula: the bytes of a buffer follow from its seed, wherever they have been in the meantime. Any
// loss on the way to the spill file and back, in the store or between two ranks shows as a wrong byte; any lost
// wake-up, as a test that does not end.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "memory/arena.h"
#include "message/matching.h"
#include "message_fixture.h"
#include "node/simulated_rank.h"
#include "seed.h"
#include "storage/scratch_directory.h"

namespace spillway::message {
namespace {

constexpr uint32_t kRanks = 6;
constexpr uint64_t kRankBytesMax = 12 * kMiB;
constexpr uint64_t kRounds = 8;

struct Plan {
  uint32_t slots = 1;
  uint64_t budget_bytes = 0;
  uint64_t seed = 0;
};

class WholeRank {
 public:
  WholeRank(const node::Segment& segment, uint32_t index, int message_spill, const char* directory, const Plan& plan,
            std::atomic<uint64_t>& unloaded)
      : rank_(segment, index, message_spill), plan_(plan), random_(plan.seed * 100 + index), unloaded_(unloaded) {
    current = this;
    rank_.self.set_hooks(node::RankHooks{
        [] { current->take_news(); }, [](uint64_t wanted) { return current->unload(wanted); },
        [] { current->arena_.mark_all_charged(); },
        [](bool is_ahead) {
          current->arena_.load_expected(is_ahead ? memory::Expected::used : memory::Expected::rewritten);
        },
        [] { return current->arena_.expected_bytes(); }, [] { return current->arena_.drop_spare(); },
        [] { return current->rank_.store.trim(); },
        [](uint64_t wanted) { return current->rank_.store.spill(wanted); }});
    arena_.attach(memory::MemoryAccount{
                      [](uint64_t bytes) { current->rank_.ledger.make_resident(bytes); },
                      [](uint64_t resident, uint64_t managed) { current->rank_.ledger.give_back(resident, managed); },
                      [] { return current->rank_.ledger.spare_limit(); }},
                  base::SpillDirectories(directory));
  }

  void live() {
    rank_.scheduler.acquire_slot();
    for (uint64_t round = 1; round <= kRounds; ++round) {
      add_buffer();
      for (int i = 0; i < 3; ++i) use(buffers_[random_.below(buffers_.size())]);
      send(round);
      receive(round);
    }
    for (Buffer& buffer : buffers_) check(buffer);
    while (!buffers_.empty()) remove(0);
    arena_.drop_spare();
    SPILLWAY_CHECK(rank_.self.record().managed_bytes == 0 && rank_.self.record().resident_bytes == 0);
    node::retire_rank(rank_.self.segment(), rank_.self.index());
  }

 private:
  struct Buffer {
    std::byte* memory;
    uint64_t bytes;
    uint64_t seed;
  };

  void add_buffer() {
    const uint64_t bytes = kMiB + random_.below(4 * kMiB);
    while (!buffers_.empty() && arena_.managed_bytes() + bytes + kMiB > kRankBytesMax)
      remove(random_.below(buffers_.size()));
    auto* memory = static_cast<std::byte*>(arena_.allocate(bytes, 1, memory::Contents::zero));
    SPILLWAY_CHECK(memory != nullptr && memory[random_.below(bytes)] == std::byte{0});
    buffers_.push_back(Buffer{memory, bytes, 0});
    rewrite(buffers_.back());
  }

  void remove(size_t i) {
    check(buffers_[i]);
    arena_.free(buffers_[i].memory);
    buffers_.erase(buffers_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  void rewrite(Buffer& buffer) {
    buffer.seed = random_.below(1 << 20);
    const auto data = pattern(buffer.bytes, buffer.seed);
    memcpy(buffer.memory, data.data(), buffer.bytes);
  }

  void check(const Buffer& buffer) const {
    const auto data = pattern(buffer.bytes, buffer.seed);
    SPILLWAY_CHECK(memcmp(buffer.memory, data.data(), buffer.bytes) == 0);
  }

  void use(Buffer& buffer) {
    SPILLWAY_CHECK(rank_.self.record().resident_bytes == rank_.self.record().managed_bytes);
    check(buffer);
    if (random_.one_in(2)) rewrite(buffer);
    if (random_.one_in(4)) rank_.scheduler.yield(0);
  }

  // Everybody sends one buffer and receives one in each round; a message's tag is its round.
  uint32_t receiver_of(uint32_t sender, uint64_t round) const {
    std::vector<uint32_t> order(kRanks);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 engine(plan_.seed * 31 + round);
    std::shuffle(order.begin(), order.end(), engine);
    return order[sender];
  }

  void send(uint64_t round) {
    const Buffer& buffer = buffers_[random_.below(buffers_.size())];
    Cell cell{};
    cell.sender = rank_.self.index();
    cell.source = static_cast<int32_t>(buffer.seed);  // what its bytes follow from
    cell.tag = static_cast<int32_t>(round);
    cell.bytes = buffer.bytes;
    cell.payload = rank_.store.put(buffer.memory, buffer.bytes);
    rank_.mailbox.push(receiver_of(cell.sender, round), cell);
  }

  void receive(uint64_t round) {
    PostedReceive wanted;
    wanted.tag = static_cast<int32_t>(round);
    matching_.post(&wanted);
    rank_.scheduler.block_until(
        node::RankState::blocked_receive, [&] { return wanted.matched != nullptr; }, [] { return uint64_t{1}; });
    const Envelope& envelope = *wanted.matched;
    std::vector<std::byte> data(envelope.bytes);
    rank_.store.copy_out(envelope.payload, data.data(), data.size());
    rank_.store.release(envelope.payload);
    SPILLWAY_CHECK(data == pattern(envelope.bytes, static_cast<uint64_t>(envelope.source)));
  }

  void take_news() {
    const uint64_t taken = rank_.mailbox.take_all([this](const Cell& cell) {
      auto envelope = std::make_unique<Envelope>();
      envelope->source = cell.source;
      envelope->tag = cell.tag;
      envelope->bytes = cell.bytes;
      envelope->payload = cell.payload;
      matching_.arrive(std::move(envelope));
    });
    rank_.scheduler.count_taken(taken);
  }

  node::Unloaded unload(uint64_t wanted) {
    const memory::UnloadResult result = arena_.unload(wanted);
    unloaded_ += result.written_bytes;
    rank_.ledger.give_back(result.released_bytes, result.freed_bytes);
    return {result.released_bytes, node::ThreadStop::stopped};
  }

  static inline WholeRank* current = nullptr;

  Rank rank_;
  const Plan& plan_;
  Random random_;
  std::atomic<uint64_t>& unloaded_;
  memory::Arena arena_{64ull << 30};
  MatchingEngine matching_;
  std::vector<Buffer> buffers_;
};

class WholeRanksTest : public testing::TestWithParam<uint32_t> {
 protected:
  // Returns the bytes that were unloaded.
  uint64_t run(uint64_t budget_bytes) {
    const Plan plan{GetParam(), budget_bytes, test_seed()};
    node::SegmentConfig config = message_config(kRanks, budget_bytes);
    config.slot_count = plan.slots;
    const storage::ScratchDirectory directory;
    const int message_spill = spill_file();
    auto& unloaded = node::shared_with_children<std::atomic<uint64_t>>();
    node::ForkedRanks ranks(config);
    for (uint32_t i = 0; i < kRanks; ++i)
      ranks.start(i, [&, i](const node::Segment& segment) {
        WholeRank(segment, i, message_spill, directory.path(), plan, unloaded).live();
      });
    EXPECT_TRUE(ranks.join(50));
    EXPECT_EQ(ranks.segment().header().resident_bytes, 0u);
    EXPECT_EQ(node::broken_invariant(ranks.segment()), "");
    close(message_spill);
    return unloaded;
  }
};

TEST_P(WholeRanksTest, lose_no_byte_when_two_of_them_fit) { EXPECT_GT(run(2 * kRankBytesMax + 4 * kMiB), 0u); }

TEST_P(WholeRanksTest, lose_no_byte_when_hardly_one_of_them_fits) { EXPECT_GT(run(kRankBytesMax + 3 * kMiB), 0u); }

TEST_P(WholeRanksTest, unload_nothing_when_all_of_them_fit) { EXPECT_EQ(run(4 * kRankBytesMax * kRanks), 0u); }

INSTANTIATE_TEST_SUITE_P(, WholeRanksTest, testing::Values(1, 3),
                         [](const auto& parameter) { return "slots_" + std::to_string(parameter.param); });

}  // namespace
}  // namespace spillway::message
