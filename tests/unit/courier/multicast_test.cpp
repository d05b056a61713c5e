#include <array>
#include <map>
#include <string>

#include "job_fixture.h"

namespace spillway::courier {
namespace {

class MulticastTest : public JobTest {
 protected:
  void use(routing::Broadcast algorithm) { selection_ = routing::Selection({{UINT32_MAX, UINT64_MAX, algorithm}}); }

  void send_to_all(uint32_t from, const std::vector<uint32_t>& receivers, int32_t tag,
                   const std::vector<std::byte>& data) {
    Cell cell = message_of(from, tag, data);
    message::set_receivers(cell, receivers, rank(from).store);
    rank(from).mailbox.push_to_courier(cell);
  }

  // The cell that has come to the rank, whose payload is kept.
  Cell next_cell(uint32_t at) {
    Cell found{};
    EXPECT_TRUE(comes_true([&] { return rank(at).mailbox.take_all([&](const Cell& cell) { found = cell; }) == 1; }));
    return found;
  }
};

TEST_F(MulticastTest, brings_one_payload_to_each_node_for_all_of_its_receivers) {
  start_job(3, 3);
  const auto data = pattern(3 * kMiB + 5, 1);
  const std::vector<uint32_t> receivers{8, 3, 4, 7, 5};
  send_to_all(0, receivers, 9, data);
  std::map<uint32_t, Cell> cells;
  for (uint32_t to : receivers) cells[to] = next_cell(to);
  EXPECT_EQ(used_chunks(1), (data.size() + 8191) / 8192);
  EXPECT_EQ(used_chunks(2), (data.size() + 8191) / 8192);
  for (uint32_t to : receivers) {
    EXPECT_EQ(cells[to].to, to);
    EXPECT_EQ(cells[to].payload.first_chunk, cells[to / 3 == 1 ? 3 : 7].payload.first_chunk);
    EXPECT_NE(used_chunks(to / 3), 0u);
    expect_message(Arrived{cells[to], data_of(to, cells[to])}, 0, 9, data);
  }
  expect_nothing_is_left();
  expect_no_problem();
}

TEST_F(MulticastTest, brings_small_data_in_the_cells) {
  start_job(3, 2);
  for (uint64_t bytes : {uint64_t{0}, uint64_t{1}, node::kInlineBytes + uint64_t{0}}) {
    const auto data = pattern(bytes, bytes);
    send_to_all(1, {2, 3, 4, 5}, 4, data);
    for (uint32_t to = 2; to < 6; ++to) {
      const auto arrived = receive(to, 1);
      ASSERT_EQ(arrived.size(), 1u);
      EXPECT_EQ(arrived[0].cell.payload.place, message::Place::none);
      expect_message(arrived[0], 1, 4, data);
    }
  }
  expect_nothing_is_left();
}

TEST_F(MulticastTest, takes_more_receivers_than_a_cell_has_room_for) {
  start_job(3, 30);
  std::vector<uint32_t> receivers;
  for (uint32_t to = 30; to < 90; ++to) receivers.push_back(to);
  for (uint64_t bytes : {uint64_t{0}, uint64_t{node::kInlineBytes}, uint64_t{1000}}) {
    const auto data = pattern(bytes, bytes);
    send_to_all(0, receivers, 4, data);
    for (uint32_t to : receivers) {
      const auto arrived = receive(to, 1);
      ASSERT_EQ(arrived.size(), 1u);
      expect_message(arrived[0], 0, 4, data);
    }
  }
  expect_nothing_is_left();
}

TEST_F(MulticastTest, keeps_its_place_between_the_sender_s_other_messages) {
  start_job(2, 2);
  const auto large = pattern(2 * kMiB, 1), small = pattern(20, 2);
  send(0, 3, 1, large);
  send_to_all(0, {2, 3}, 2, large);
  send(0, 3, 3, small);
  send_to_all(0, {2, 3}, 4, small);
  send(0, 3, 5, large);
  const auto arrived = receive(3, 5);
  ASSERT_EQ(arrived.size(), 5u);
  for (int32_t tag = 1; tag <= 5; ++tag) expect_message(arrived[tag - 1], 0, tag, tag == 3 || tag == 4 ? small : large);
  receive(2, 2);
  expect_nothing_is_left();
}

class BroadcastTest : public MulticastTest, public testing::WithParamInterface<routing::Broadcast> {
 protected:
  void SetUp() override { use(GetParam()); }

  // Ranks 1 and 2 of each of the other nodes of three.
  static std::vector<uint32_t> receivers_elsewhere(uint32_t from, uint32_t nodes) {
    std::vector<uint32_t> receivers;
    for (uint32_t to = 0; to < 3 * nodes; ++to)
      if (to / 3 != from / 3 && to % 3 != 0) receivers.push_back(to);
    return receivers;
  }

  void expect_broadcast(uint32_t from, uint32_t nodes, const std::vector<std::byte>& data) {
    const std::vector<uint32_t> receivers = receivers_elsewhere(from, nodes);
    for (uint32_t to : receivers) {
      const auto arrived = receive(to, 1);
      ASSERT_EQ(arrived.size(), 1u);
      expect_message(arrived[0], from, 7, data);
    }
  }
};

TEST_P(BroadcastTest, brings_data_of_any_size_to_all_nodes_from_any_of_them) {
  start_job(5, 3);
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{196}, uint64_t{197}, kPartBytes, kPartBytes + 1, 5 * kMiB + 77})
    for (const uint32_t from : {0, 4, 14}) {
      const auto data = pattern(bytes, bytes + from);
      send_to_all(from, receivers_elsewhere(from, 5), 7, data);
      expect_broadcast(from, 5, data);
    }
  expect_nothing_is_left();
  expect_no_problem();
}

TEST_P(BroadcastTest, carries_those_of_all_nodes_at_the_same_time) {
  constexpr uint32_t kNodes = 6;
  start_job(kNodes, 3);
  const auto data = pattern(3 * kMiB + 1, 5);
  for (uint32_t node = 0; node < kNodes; ++node)
    for (int32_t round = 0; round < 2; ++round) send_to_all(3 * node, receivers_elsewhere(3 * node, kNodes), 7, data);
  for (uint32_t to = 0; to < 3 * kNodes; ++to) {
    if (to % 3 == 0) continue;
    const auto arrived = receive(to, 2 * (kNodes - 1));
    ASSERT_EQ(arrived.size(), 2 * (kNodes - 1));
    for (const Arrived& each : arrived) expect_message(each, each.cell.sender, 7, data);
  }
  expect_nothing_is_left();
  expect_no_problem();
}

TEST_P(BroadcastTest, goes_through_nodes_that_have_no_memory_for_it) {
  constexpr uint32_t kNodes = 4;
  start_job(kNodes, 3, kMiB);
  const auto data = pattern(6 * kMiB + 3, 1);
  for (const uint32_t from : {0, 6}) send_to_all(from, receivers_elsewhere(from, kNodes), 7, data);
  for (uint32_t to = 1; to < 3 * kNodes; ++to) {
    if (to % 3 == 0) continue;
    const uint64_t count = to / 3 == 0 || to / 3 == 2 ? 1 : 2;
    const auto arrived = receive(to, count);
    ASSERT_EQ(arrived.size(), count);
    for (const Arrived& each : arrived) expect_message(each, each.cell.sender, 7, data);
  }
  expect_nothing_is_left();
  expect_no_problem();
}

INSTANTIATE_TEST_SUITE_P(AllAlgorithms, BroadcastTest,
                         testing::Values(routing::Broadcast::flat, routing::Broadcast::binomial,
                                         routing::Broadcast::chain, routing::Broadcast::scatter_allgather),
                         [](const auto& algorithm) {
                           std::string name = routing::name_of(algorithm.param);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST_F(MulticastTest, passes_on_what_has_come_of_it_before_the_rest_has) {
  use(routing::Broadcast::chain);
  make_nodes(3, 1);
  for (uint32_t index : {1, 2}) node(index).start(addresses(), kSecret, selection_);
  const base::Descriptor connection = call(1);
  say(connection, make_hello(0, kSecret));
  const auto data = pattern(2 * kPartBytes, 1);
  FrameHeader header{};
  header.kind = FrameKind::first_part;
  header.receiver_count = 2;
  header.part_bytes = kPartBytes;
  header.bytes = data.size();
  header.end_part = 2;
  header.algorithm = routing::Broadcast::chain;
  header.cell_kind = static_cast<uint32_t>(CellKind::multicast);
  header.context = 0x123456789abcdef0;
  header.tag = 7;
  const auto say_part = [&](uint64_t part) {
    const std::byte* begin = data.data() + part * kPartBytes;
    ASSERT_EQ(::send(connection.number(), begin, kPartBytes, MSG_NOSIGNAL), static_cast<ssize_t>(kPartBytes));
  };
  say(connection, header);
  say(connection, std::array<uint32_t, 2>{1, 2});
  say_part(0);
  EXPECT_TRUE(comes_true([&] { return node(2).segment.courier().pins == 1; }));  // a message has begun to come there
  header.kind = FrameKind::next_part;
  header.receiver_count = 0;
  say(connection, header);
  say_part(1);
  for (uint32_t to : {1, 2}) {
    const auto arrived = receive(to, 1);
    ASSERT_EQ(arrived.size(), 1u);
    expect_message(arrived[0], 0, 7, data);
  }
  expect_nothing_is_left();
}

}  // namespace
}  // namespace spillway::courier
