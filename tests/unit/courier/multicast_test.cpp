#include <map>

#include "job_fixture.h"

namespace spillway::courier {
namespace {

class MulticastTest : public JobTest {
 protected:
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

}  // namespace
}  // namespace spillway::courier
