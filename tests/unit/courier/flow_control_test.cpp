#include "job_fixture.h"

namespace spillway::courier {
namespace {

class FlowControlTest : public JobTest {
 protected:
  // Leaves `count` cells for each node.
  void leave_cells(uint64_t count) {
    for (auto& each : nodes_) each->segment.header().cell_count = count;
  }

  std::thread sender_of(uint32_t from, uint32_t to, uint64_t count, std::atomic<uint64_t>& sent) {
    return std::thread([this, from, to, count, &sent] {
      for (; sent < count; ++sent) {
        auto data = pattern(node::kInlineBytes, 1);
        const uint64_t number = sent;
        memcpy(data.data(), &number, sizeof number);
        send(from, to, 0, data);
      }
    });
  }

  void expect_all_in_order(uint32_t at, uint64_t count) {
    uint64_t next = 0, wrong = 0;
    const auto rest = pattern(node::kInlineBytes, 1);
    EXPECT_TRUE(comes_true([&] {
      rank(at).mailbox.take_all([&](const Cell& cell) {
        wrong += message::number_in(cell) != next++;
        wrong += !std::equal(rest.begin() + 8, rest.end(), cell.inlined + 8);
      });
      return next >= count;
    })) << next
        << " came to rank " << at;
    EXPECT_EQ(wrong, 0u);
  }
};

TEST_F(FlowControlTest, senders_wait_while_a_receiver_takes_nothing) {
  constexpr uint64_t kCount = 200000;
  make_nodes(2, 1);
  leave_cells(500);
  start_couriers();
  std::atomic<uint64_t> sent = 0;
  std::thread sender = sender_of(0, 1, kCount, sent);
  uint64_t before = 1;
  comes_true([&] {  // until it goes no further
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::exchange(before, sent) == sent;
  });
  EXPECT_LT(sent, kCount) << "the courier has taken all of them into its own memory";
  EXPECT_GT(sent, 1000u);
  expect_all_in_order(1, kCount);
  sender.join();
  expect_no_problem();
}

TEST_F(FlowControlTest, nodes_that_send_to_each_other_do_not_wait_for_each_other) {
  constexpr uint64_t kCount = 100000;
  make_nodes(2, 1);
  leave_cells(100);
  start_couriers();
  std::atomic<uint64_t> sent[2] = {0, 0};
  std::thread first = sender_of(0, 1, kCount, sent[0]), second = sender_of(1, 0, kCount, sent[1]);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::thread taker([&] { expect_all_in_order(0, kCount); });
  expect_all_in_order(1, kCount);
  taker.join();
  first.join();
  second.join();
  expect_no_problem();
}

TEST_F(FlowControlTest, a_message_gets_a_cell_even_when_all_of_them_wait_for_the_courier) {
  make_nodes(2, 1);
  leave_cells(100);
  node(0).start(addresses(), kSecret,
                selection_);  // the other node takes nothing: its system accepts the connection, no more
  Cell cell = message_of(0, 0, pattern(node::kInlineBytes, 1));
  cell.to = 1;
  // Until there has been no free cell for a tenth of a second.
  for (int refused = 0; refused < 100;) {
    refused = rank(0).mailbox.try_push(1, cell) ? 0 : refused + 1;
    if (refused != 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  struct {
    FrameHeader header{};
    uint32_t receiver = 0;
    uint32_t data = 7;
  } frame;
  frame.header.kind = FrameKind::first_part;
  frame.header.sender = 1;
  frame.header.source = 1;
  frame.header.cell_kind = static_cast<uint32_t>(CellKind::message);
  frame.header.receiver_count = 1;
  frame.header.part_bytes = sizeof frame.data;
  frame.header.bytes = sizeof frame.data;
  frame.header.end_part = 1;
  const base::Descriptor other = call(0);
  say(other, make_hello(1, kSecret));
  say(other, frame);
  const auto arrived = receive(0, 1);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].cell.sender, 1u);
  EXPECT_EQ(memcmp(arrived[0].data.data(), &frame.data, sizeof frame.data), 0);
}

TEST_F(FlowControlTest, multicasts_go_on_where_they_ran_out_of_cells) {
  constexpr uint32_t kRanks = 4, kRounds = 500;
  make_nodes(2, kRanks);
  leave_cells(kRanks + 2);
  start_couriers();
  std::vector<uint32_t> receivers;
  for (uint32_t to = kRanks; to < 2 * kRanks; ++to) receivers.push_back(to);
  const auto data = pattern(1000, 1);
  std::thread sender([&] {
    for (uint32_t round = 0; round < kRounds; ++round) {
      Cell cell = message_of(0, static_cast<int32_t>(round), data);
      message::set_receivers(cell, receivers, rank(0).store);
      rank(0).mailbox.push_to_courier(cell);
    }
  });
  uint32_t next[kRanks] = {}, done = 0;
  EXPECT_TRUE(comes_true([&] {
    for (uint32_t i = 0; i < kRanks; ++i)
      rank(kRanks + i).mailbox.take_all([&](const Cell& cell) {
        expect_message(Arrived{cell, data_of(kRanks + i, cell)}, 0, static_cast<int32_t>(next[i]++), data);
        ++done;
      });
    return done >= kRanks * kRounds;
  }));
  sender.join();
  expect_nothing_is_left();
  expect_no_problem();
}

}  // namespace
}  // namespace spillway::courier
