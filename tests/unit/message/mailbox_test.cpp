#include "message/mailbox.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "message_fixture.h"
#include "node/simulated_rank.h"

namespace spillway::message {
namespace {

class MailboxTest : public testing::Test {
 protected:
  explicit MailboxTest(uint32_t ranks = 2) : segment_(node::Segment::create(message_config(ranks, 64 * kMiB))) {}

  static std::vector<uint64_t> take(Mailbox& mailbox) {
    std::vector<uint64_t> numbers;
    const uint64_t count = mailbox.take_all([&](const Cell& cell) { numbers.push_back(number_in(cell)); });
    EXPECT_EQ(count, numbers.size());
    return numbers;
  }

  // Leaves `count` cells for the whole node.
  void leave_cells(uint64_t count) { segment_.header().cell_count = count; }

  node::Segment segment_;
  int spill_ = spill_file();
};

TEST_F(MailboxTest, gives_cells_in_the_order_in_which_they_were_pushed) {
  Rank sender(segment_, 0, spill_), receiver(segment_, 1, spill_);
  for (uint64_t i = 0; i < 5; ++i) sender.mailbox.push(1, cell_of(0, 0, i));
  EXPECT_EQ(take(receiver.mailbox), (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(take(receiver.mailbox), std::vector<uint64_t>{});
  EXPECT_EQ(segment_.rank(1).arrivals, 5u);
  EXPECT_EQ(segment_.rank(0).arrivals, 0u);
}

TEST_F(MailboxTest, gives_some_cells_and_keeps_the_others_in_their_order) {
  Rank sender(segment_, 0, spill_), receiver(segment_, 1, spill_);
  std::vector<uint64_t> numbers;
  const auto note = [&](const Cell& cell) { numbers.push_back(number_in(cell)); };
  for (uint64_t i = 0; i < 5; ++i) sender.mailbox.push(1, cell_of(0, 0, i));
  EXPECT_EQ(receiver.mailbox.take_some(0, note), 0u);
  EXPECT_EQ(receiver.mailbox.take_some(3, note), 3u);
  for (uint64_t i = 5; i < 8; ++i) sender.mailbox.push(1, cell_of(0, 0, i));
  EXPECT_EQ(receiver.mailbox.take_some(4, note), 4u);
  EXPECT_EQ(receiver.mailbox.take_some(4, note), 1u);
  EXPECT_EQ(numbers, (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(receiver.mailbox.take_some(4, note), 0u);
}

TEST_F(MailboxTest, refuses_when_all_cells_are_in_use_and_rings_for_them) {
  leave_cells(2);
  Rank sender(segment_, 0, spill_), receiver(segment_, 1, spill_);
  EXPECT_TRUE(sender.mailbox.try_push(1, cell_of(0, 0, 0)));
  EXPECT_TRUE(sender.mailbox.try_push(1, cell_of(0, 0, 1)));
  EXPECT_EQ(segment_.rank(1).doorbell, 0u);
  EXPECT_FALSE(sender.mailbox.try_push(1, cell_of(0, 0, 2)));
  EXPECT_EQ(segment_.rank(1).doorbell, 1u);
  EXPECT_EQ(take(receiver.mailbox), (std::vector<uint64_t>{0, 1}));
  EXPECT_TRUE(sender.mailbox.try_push(1, cell_of(0, 0, 3)));
  EXPECT_EQ(take(receiver.mailbox), std::vector<uint64_t>{3});
}

TEST_F(MailboxTest, carries_every_field_and_a_payload_of_any_size_up_to_its_own) {
  Rank sender(segment_, 0, spill_), receiver(segment_, 1, spill_);
  for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, uint64_t{195}, uint64_t{196}}) {
    Cell cell{};
    cell.kind = CellKind::message;
    cell.context = 0x123456789abcdef0;
    cell.source = -7;
    cell.tag = 1 << 30;
    cell.bytes = bytes;
    cell.sender = 0;
    cell.token = 0xfffffffe;
    const auto data = pattern(bytes, bytes);
    std::copy(data.begin(), data.end(), cell.inlined);
    sender.mailbox.push(1, cell);
    receiver.mailbox.take_all([&](const Cell& taken) {
      EXPECT_EQ(taken.context, cell.context);
      EXPECT_EQ(taken.source, cell.source);
      EXPECT_EQ(taken.tag, cell.tag);
      EXPECT_EQ(taken.bytes, bytes);
      EXPECT_EQ(taken.token, cell.token);
      EXPECT_TRUE(std::equal(data.begin(), data.end(), taken.inlined));
    });
  }
}

TEST_F(MailboxTest, carries_the_number_of_a_payload_in_the_store) {
  Rank sender(segment_, 0, spill_), receiver(segment_, 1, spill_);
  const auto data = pattern(kMiB, 1);
  Cell cell{};
  cell.payload = sender.store.put(data.data(), data.size());
  cell.bytes = data.size();
  sender.mailbox.push(1, cell);
  receiver.mailbox.take_all([&](const Cell& taken) {
    std::vector<std::byte> out(taken.bytes);
    receiver.store.copy_out(taken.payload, out.data(), out.size());
    EXPECT_EQ(out, data);
  });
}

TEST_F(MailboxTest, uses_cells_again) {
  Rank sender(segment_, 0, spill_), receiver(segment_, 1, spill_);
  for (uint64_t round = 0; round < 1000; ++round) {
    sender.mailbox.push(1, cell_of(0, 0, round));
    sender.mailbox.push(0, cell_of(0, 0, round));
    EXPECT_EQ(take(receiver.mailbox), std::vector<uint64_t>{round});
    EXPECT_EQ(take(sender.mailbox), std::vector<uint64_t>{round});
  }
  EXPECT_EQ(segment_.header().used_cells, 2u);
}

TEST_F(MailboxTest, rings_only_when_as_many_have_come_as_the_sleeper_waits_for) {
  Rank sender(segment_, 0, spill_);
  node::RankRecord& sleeper = segment_.rank(1);
  sender.mailbox.push(1, cell_of(0, 0, 0));
  EXPECT_EQ(sleeper.doorbell, 0u) << "it is not asleep";
  sleeper.wake_at = 3;
  sender.mailbox.push(1, cell_of(0, 0, 0));
  EXPECT_EQ(sleeper.doorbell, 0u);
  sender.mailbox.push(1, cell_of(0, 0, 0));
  EXPECT_EQ(sleeper.doorbell, 1u);
}

TEST_F(MailboxTest, ends_the_process_on_a_cell_that_says_it_holds_more_than_it_can) {
  Rank sender(segment_, 0, spill_);
  Cell cell = cell_of(0, 0, 0);
  cell.bytes = node::kInlineBytes + 1;
  EXPECT_EXIT(sender.mailbox.push(1, cell), testing::ExitedWithCode(1), "internal error");
}

// Mailbox and scheduler as a job puts them together; hooks have no argument.
class MailProcess {
 public:
  MailProcess(const node::Segment& segment, uint32_t index, int spill) : rank(segment, index, spill) {
    current = this;
    rank.self.set_hooks(node::RankHooks{[] { current->take_news(); }, nullptr, nullptr, nullptr});
  }

  template <typename Accept>
  void wait_for(uint64_t count, Accept accept) {
    accept_ = [&accept](const Cell& cell) { accept(cell); };
    rank.scheduler.block_until(
        node::RankState::blocked_receive, [&] { return taken >= count; },
        [&] { return count > taken ? count - taken : 1; });
  }

  void take_news() {
    const uint64_t now = rank.mailbox.take_all([this](const Cell& cell) {
      ++taken;
      if (accept_) accept_(cell);
    });
    rank.scheduler.count_taken(now);
  }

  static inline MailProcess* current = nullptr;
  Rank rank;
  uint64_t taken = 0;

 private:
  std::function<void(const Cell&)> accept_;
};

TEST(MailboxProcessesTest, keep_the_order_of_each_sender_and_lose_nothing) {
  constexpr uint32_t kSenders = 4;
  constexpr uint64_t kEach = 20000;
  node::ForkedRanks ranks(message_config(kSenders + 1, 64 * kMiB));
  const int spill = spill_file();
  ranks.start(0, [&](const node::Segment& segment) {
    MailProcess receiver(segment, 0, spill);
    receiver.rank.scheduler.acquire_slot();
    uint64_t next[kSenders + 1] = {};
    receiver.wait_for(kSenders * kEach,
                      [&](const Cell& cell) { SPILLWAY_CHECK(number_in(cell) == next[cell.sender]++); });
    for (uint32_t sender = 1; sender <= kSenders; ++sender) SPILLWAY_CHECK(next[sender] == kEach);
  });
  for (uint32_t sender = 1; sender <= kSenders; ++sender)
    ranks.start(sender, [&, sender](const node::Segment& segment) {
      MailProcess process(segment, sender, spill);
      for (uint64_t i = 0; i < kEach; ++i) process.rank.mailbox.push(0, cell_of(sender, 0, i));
    });
  EXPECT_TRUE(ranks.join(30));
  EXPECT_EQ(ranks.segment().rank(0).arrivals, kSenders * kEach);
}

TEST(MailboxProcessesTest, send_to_each_other_through_far_too_few_cells) {
  // All send all before anybody reads, with cells for a fraction of it: senders that wait must read.
  constexpr uint32_t kRanks = 4;
  constexpr uint64_t kEach = 1500;
  node::ForkedRanks ranks(message_config(kRanks, 64 * kMiB));
  ranks.segment().header().cell_count = 32;
  const int spill = spill_file();
  for (uint32_t index = 0; index < kRanks; ++index)
    ranks.start(index, [&, index](const node::Segment& segment) {
      MailProcess process(segment, index, spill);
      process.rank.scheduler.acquire_slot();
      for (uint64_t i = 0; i < kEach; ++i)
        for (uint32_t to = 0; to < kRanks; ++to)
          if (to != index) process.rank.mailbox.push(to, cell_of(index, 0, i));
      process.wait_for((kRanks - 1) * kEach, [](const Cell&) {});
    });
  EXPECT_TRUE(ranks.join(40));
  EXPECT_LE(ranks.segment().header().used_cells, 32u + kRanks);
}

TEST(MailboxProcessesTest, wake_a_sleeper_whatever_the_timing) {
  constexpr uint64_t kRounds = 20000;
  node::ForkedRanks ranks(message_config(2, 64 * kMiB));
  const int spill = spill_file();
  for (uint32_t index = 0; index < 2; ++index)
    ranks.start(index, [&, index](const node::Segment& segment) {
      MailProcess process(segment, index, spill);
      process.rank.scheduler.acquire_slot();
      for (uint64_t round = 1; round <= kRounds; ++round) {
        if (index == 0) process.rank.mailbox.push(1, cell_of(0, 0, round));
        process.wait_for(round, [](const Cell&) {});
        if (index == 1) process.rank.mailbox.push(0, cell_of(1, 0, round));
      }
    });
  EXPECT_TRUE(ranks.join(30));
}

}  // namespace
}  // namespace spillway::message
