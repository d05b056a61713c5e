#include "courier/courier.h"

#include "job_fixture.h"
#include "seed.h"

namespace spillway::courier {
namespace {

class CourierTest : public JobTest {
 protected:
  static uint64_t seed_of(uint64_t sender, uint64_t number) { return sender * 1000 + number; }

  // Takes what has come to the rank as soon as there is anything.
  void take_at_once(uint32_t at) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (rank(at).mailbox.take_all([](const Cell&) {}) == 0) SPILLWAY_CHECK(std::chrono::steady_clock::now() < end);
  }
};

TEST_F(CourierTest, carries_messages_of_any_size_whole_and_in_order) {
  start_job(2, 1);
  const std::vector<uint64_t> sizes{
      0, 1, 196, 197, 8192, kPartBytes - 1, kPartBytes, kPartBytes + 1, 4 * kPartBytes, 5 * kMiB + 77, 3};
  for (uint64_t i = 0; i < sizes.size(); ++i) send(0, 1, static_cast<int32_t>(i), pattern(sizes[i], i));
  const auto arrived = receive(1, sizes.size());
  ASSERT_EQ(arrived.size(), sizes.size());
  for (uint64_t i = 0; i < sizes.size(); ++i)
    expect_message(arrived[i], 0, static_cast<int32_t>(i), pattern(sizes[i], i));
  expect_nothing_is_left();
  expect_no_problem();
}

TEST_F(CourierTest, keeps_the_order_of_each_of_many_senders_to_each_receiver) {
  constexpr uint32_t kEach = 300;
  start_job(3, 2);
  const uint64_t seed = test_seed();
  std::vector<std::thread> senders;
  for (uint32_t from = 0; from < 6; ++from)
    senders.emplace_back([&, from] {
      Random random(seed + from);
      for (uint32_t i = 0; i < kEach; ++i)
        for (uint32_t to = 0; to < 6; ++to) {
          const uint64_t bytes = random.one_in(40) ? random.below(2 * kPartBytes) : random.below(300);
          if (to / 2 != from / 2) send(from, to, static_cast<int32_t>(i), pattern(bytes, seed_of(from, i)));
        }
    });
  for (uint32_t to = 0; to < 6; ++to) {
    const auto arrived = receive(to, uint64_t{4} * kEach);
    std::vector<uint32_t> next(6);
    for (const Arrived& each : arrived) {
      const uint32_t number = next[each.cell.sender]++;
      expect_message(each, each.cell.sender, static_cast<int32_t>(number),
                     pattern(each.cell.bytes, seed_of(each.cell.sender, number)));
    }
  }
  for (auto& sender : senders) sender.join();
  expect_nothing_is_left();
  expect_no_problem();
}

TEST_F(CourierTest, sends_the_short_message_of_one_while_the_long_one_of_another_is_on_its_way) {
  make_nodes(2, 2);
  const auto large = pattern(64 * kMiB, 1), small = pattern(100, 2);
  send(0, 2, 1, large);
  send(0, 2, 2, small);
  send(1, 2, 3, small);
  start_couriers();
  const auto arrived = receive(2, 3);
  ASSERT_EQ(arrived.size(), 3u);
  expect_message(arrived[0], 1, 3, small);
  expect_message(arrived[1], 0, 1, large);
  expect_message(arrived[2], 0, 2, small);
}

TEST_F(CourierTest, gives_the_long_messages_of_several_senders_equal_turns) {
  make_nodes(2, 2);
  const auto longer = pattern(16 * kMiB, 1), shorter = pattern(8 * kMiB, 2);
  send(0, 2, 1, longer);
  send(1, 2, 2, shorter);
  start_couriers();
  const auto arrived = receive(2, 2);
  ASSERT_EQ(arrived.size(), 2u);
  expect_message(arrived[0], 1, 2, shorter);
  expect_message(arrived[1], 0, 1, longer);
}

TEST_F(CourierTest, carries_words_with_their_tokens) {
  start_job(2, 1);
  const std::vector<CellKind> kinds{CellKind::acknowledge, CellKind::recall, CellKind::recalled};
  for (const CellKind kind : kinds) {
    Cell cell{};
    cell.kind = kind;
    cell.sender = 1;
    cell.to = 0;
    cell.token = 0xfffffff0 + static_cast<uint32_t>(kind);
    rank(1).mailbox.push(0, cell);
  }
  const auto arrived = receive(0, kinds.size());
  ASSERT_EQ(arrived.size(), kinds.size());
  for (size_t i = 0; i < kinds.size(); ++i) {
    EXPECT_EQ(arrived[i].cell.kind, kinds[i]);
    EXPECT_EQ(arrived[i].cell.sender, 1u);
    EXPECT_EQ(arrived[i].cell.to, 0u);
    EXPECT_EQ(arrived[i].cell.token, 0xfffffff0 + static_cast<uint32_t>(kinds[i]));
    EXPECT_EQ(arrived[i].cell.bytes, 0u);
  }
}

TEST_F(CourierTest, carries_the_token_of_a_synchronous_message) {
  start_job(2, 1);
  Cell cell = message_of(0, 5, pattern(50, 1));
  cell.to = 1;
  cell.token = 77;
  rank(0).mailbox.push(1, cell);
  const auto arrived = receive(1, 1);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].cell.token, 77u);
  expect_message(arrived[0], 0, 5, pattern(50, 1));
}

TEST_F(CourierTest, rings_a_receiver_that_sleeps) {
  start_job(2, 1);
  node::RankRecord& sleeper = rank(1).self.record();
  sleeper.wake_at = 1;
  send(0, 1, 0, pattern(10, 1));
  EXPECT_TRUE(comes_true([&] { return sleeper.doorbell != 0; }));
}

TEST_F(CourierTest, wakes_for_every_message_whatever_the_timing) {
  constexpr int kRounds = 3000;
  start_job(2, 1);
  std::thread other([&] {
    for (int round = 0; round < kRounds; ++round) {
      take_at_once(1);
      send(1, 0, round, pattern(8, 1));
    }
  });
  for (int round = 0; round < kRounds; ++round) {
    send(0, 1, round, pattern(8, 1));
    take_at_once(0);
  }
  other.join();
}

TEST_F(CourierTest, sleeps_when_there_is_nothing_to_do) {
  start_job(2, 1);
  send(0, 1, 0, pattern(kMiB, 1));
  receive(1, 1);
  expect_nothing_is_left();
  const auto processor_time = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
  };
  const uint64_t before = processor_time();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(processor_time() - before, 10000000u);
}

TEST_F(CourierTest, stops_with_nothing_sent) {
  start_job(2, 1);
  for (auto& each : nodes_) each->courier->stop();
  for (auto& each : nodes_) each->courier->stop();
  expect_no_problem();
}

TEST_F(CourierTest, keeps_on_storage_what_the_receiving_node_has_no_memory_for) {
  start_job(2, 1, 64 * kMiB);
  rank(1).ledger.charge(60 * kMiB);
  std::vector<std::vector<std::byte>> sent;
  for (uint64_t bytes : {3 * kMiB + 77, 4 * kMiB, 5 * kMiB + 1, uint64_t{300}}) {
    sent.push_back(pattern(bytes, bytes));
    send(0, 1, static_cast<int32_t>(sent.size()), sent.back());
  }
  EXPECT_TRUE(comes_true([&] { return rank(1).self.record().arrivals == sent.size(); }));
  EXPECT_GT(node(1).segment.courier().statistics.spilled_bytes, 0u);
  const auto arrived = receive(1, sent.size());
  ASSERT_EQ(arrived.size(), sent.size());
  EXPECT_TRUE(std::ranges::any_of(
      arrived, [](const Arrived& each) { return each.cell.payload.place == message::Place::storage; }));
  for (size_t i = 0; i < sent.size(); ++i) expect_message(arrived[i], 0, static_cast<int32_t>(i + 1), sent[i]);
  expect_nothing_is_left();
}

TEST_F(CourierTest, sends_what_waits_on_storage_of_the_sending_node) {
  start_job(2, 1, 64 * kMiB);
  rank(0).ledger.charge(62 * kMiB);
  ASSERT_TRUE(rank(0).ledger.charge_store(4 * kMiB));
  const auto data = pattern(5 * kMiB + 333, 1);
  send(0, 1, 1, data);
  EXPECT_GT(rank(0).self.record().statistics.spilled_bytes, 0u);
  const auto arrived = receive(1, 1);
  ASSERT_EQ(arrived.size(), 1u);
  expect_message(arrived[0], 0, 1, data);
  expect_nothing_is_left();
}

}  // namespace
}  // namespace spillway::courier
