#include <netinet/tcp.h>

#include "job_fixture.h"

namespace spillway::courier {
namespace {

class ConnectionsTest : public JobTest {
 protected:
  static bool is_closed_by_peer(const base::Descriptor& connection) {
    char byte;
    const ssize_t received = recv(connection.number(), &byte, 1, 0);
    return received == 0 || (received < 0 && errno == ECONNRESET);
  }
};

TEST_F(ConnectionsTest, whoever_does_not_know_the_secret_is_refused_and_harms_nobody) {
  start_job(2, 1);
  Hello other_secret = make_hello(1, kSecret);
  other_secret.secret[strlen(kSecret) - 1] ^= 1;
  Hello longer_secret = make_hello(1, std::string(kSecret) + '\0');
  Hello other_version = make_hello(1, kSecret);
  ++other_version.version;
  Hello other_magic = make_hello(1, kSecret);
  ++other_magic.magic;
  const Hello no_node = make_hello(2, kSecret), itself = make_hello(0, kSecret);
  for (const Hello& hello : {other_secret, longer_secret, other_version, other_magic, no_node, itself}) {
    const base::Descriptor stranger = call(0);
    say(stranger, hello);
    EXPECT_TRUE(is_closed_by_peer(stranger));
  }
  call(0).close();
  send(1, 0, 1, pattern(1000, 1));
  const auto arrived = receive(0, 1);
  ASSERT_EQ(arrived.size(), 1u);
  expect_message(arrived[0], 1, 1, pattern(1000, 1));
  expect_no_problem();
}

TEST_F(ConnectionsTest, the_round_trip_of_few_short_messages_is_known_and_of_none_is_not) {
  start_job(3, 1);
  for (int32_t i = 0; i < 20; ++i) {
    send(0, 1, i, pattern(1, 1));
    receive(1, 1);
  }
  const LinkFigures figures = node(0).courier->figures_of_link(1);
  EXPECT_GT(figures.min_rtt_us, 0u);
  EXPECT_LT(figures.min_rtt_us, 1000000u);
  EXPECT_GT(figures.bytes, 10 * sizeof(FrameHeader));
  const LinkFigures none = node(0).courier->figures_of_link(2);
  EXPECT_EQ(none.min_rtt_us, 0u);
  EXPECT_EQ(none.bytes, 0u);
}

TEST_F(ConnectionsTest, a_node_connects_once_only) {
  start_job(2, 1);
  send(1, 0, 1, pattern(10, 1));
  receive(0, 1);
  const base::Descriptor second = call(0);
  say(second, make_hello(1, kSecret));
  EXPECT_TRUE(is_closed_by_peer(second));
  expect_no_problem();
}

TEST_F(ConnectionsTest, a_courier_of_another_job_is_told_that_it_is_not_wanted) {
  make_nodes(2, 1);
  node(0).start(addresses(), kSecret, selection_);
  node(1).start(addresses(), "secret of another job", selection_);
  send(1, 0, 1, pattern(10, 1));
  EXPECT_TRUE(comes_true([&] { return node(1).is_problem_reported(); }));
  EXPECT_EQ(node(1).courier->problem().node, 0);
  EXPECT_FALSE(node(0).is_problem_reported());
  EXPECT_EQ(rank(0).self.record().arrivals, 0u);
}

TEST_F(ConnectionsTest, a_node_that_goes_away_is_reported) {
  start_job(3, 1);
  send(0, 1, 1, pattern(10, 1));
  receive(1, 1);
  EXPECT_FALSE(node(0).is_problem_reported());
  node(1).courier->stop();
  EXPECT_TRUE(comes_true([&] { return node(0).is_problem_reported(); }));
  EXPECT_EQ(node(0).courier->problem().node, 1);
  EXPECT_NE(node(0).courier->problem().text.find("node 1 (127.0.0.1"), std::string::npos)
      << node(0).courier->problem().text;
  EXPECT_FALSE(node(2).is_problem_reported());
  send(0, 1, 2, pattern(kMiB, 1));  // is dropped
  send(0, 2, 3, pattern(kMiB, 2));
  const auto arrived = receive(2, 1);
  ASSERT_EQ(arrived.size(), 1u);
  expect_message(arrived[0], 0, 3, pattern(kMiB, 2));
  expect_nothing_is_left();
}

TEST_F(ConnectionsTest, a_node_that_nobody_listens_for_is_reported) {
  make_nodes(2, 1);
  close(node(1).listener);
  node(0).start(addresses(), kSecret, selection_);
  send(0, 1, 1, pattern(10, 1));
  EXPECT_TRUE(comes_true([&] { return node(0).is_problem_reported(); }));
  EXPECT_EQ(node(0).courier->problem().node, 1);
  EXPECT_EQ(node(0).courier->problem().text, "cannot connect to node 1 (127.0.0.1, port " +
                                                 std::to_string(node(1).address.port) + "): Connection refused");
}

TEST_F(ConnectionsTest, what_is_no_message_is_reported) {
  FrameHeader good{};
  good.kind = FrameKind::first_part;
  good.sender = 1;
  good.cell_kind = static_cast<uint32_t>(CellKind::message);
  good.receiver_count = 1;
  good.end_part = 1;
  FrameHeader none = good, odd_part = good, no_part = good, too_many_parts = good, unbegun = good, other_word = good,
              too_long = good;
  none.kind = static_cast<FrameKind>(9);
  odd_part.bytes = 5;
  no_part.end_part = 0;
  too_many_parts.end_part = 2;
  unbegun.kind = FrameKind::next_part;
  other_word.cell_kind = static_cast<uint32_t>(CellKind::in_library);
  too_long.part_bytes = 1u << 31;
  struct Frame {
    FrameHeader header;
    uint32_t receiver;
  };
  for (const Frame& frame :
       {Frame{none, 0}, Frame{odd_part, 0}, Frame{no_part, 0}, Frame{too_many_parts, 0}, Frame{unbegun, 0},
        Frame{other_word, 0}, Frame{too_long, 0}, Frame{good, 1}, Frame{good, 7}}) {
    nodes_.clear();
    make_nodes(2, 1, 16 * kMiB);
    node(0).start(addresses(), kSecret, selection_);
    const base::Descriptor peer = call(0);
    say(peer, make_hello(1, kSecret));
    say(peer, frame);
    EXPECT_TRUE(comes_true([&] { return node(0).is_problem_reported(); }));
    EXPECT_EQ(node(0).courier->problem().node, 1);
    EXPECT_NE(node(0).courier->problem().text.find("no message"), std::string::npos);
    EXPECT_EQ(rank(0).self.record().arrivals, 0u);
  }
}

TEST_F(ConnectionsTest, frames_may_come_in_any_pieces) {
  make_nodes(2, 1);
  node(0).start(addresses(), kSecret, selection_);
  const auto data = pattern(kPartBytes + 100, 1);
  std::vector<std::byte> said;
  const auto add = [&](const void* from, uint64_t bytes) {
    said.insert(said.end(), static_cast<const std::byte*>(from), static_cast<const std::byte*>(from) + bytes);
  };
  const Hello hello = make_hello(1, kSecret);
  FrameHeader first{};
  first.kind = FrameKind::first_part;
  first.sender = 1;
  first.source = 1;
  first.context = 0x123456789abcdef1;
  first.cell_kind = static_cast<uint32_t>(CellKind::message);
  first.receiver_count = 1;
  first.part_bytes = kPartBytes;
  first.bytes = data.size();
  first.end_part = 2;
  FrameHeader next{};
  next.kind = FrameKind::next_part;
  next.sender = 1;
  next.part_bytes = 100;
  const uint32_t receiver = 0;
  add(&hello, sizeof hello);
  add(&first, sizeof first);
  add(&receiver, sizeof receiver);
  add(data.data(), kPartBytes);
  add(&next, sizeof next);
  add(data.data() + kPartBytes, 100);
  const base::Descriptor peer = call(0);
  const int no_delay = 1;
  setsockopt(peer.number(), IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay);
  for (size_t done = 0; done < said.size();) {
    const size_t piece = done < 300 || done + 300 > said.size() ? 7 : 50000;
    const ssize_t sent = ::send(peer.number(), said.data() + done, std::min(piece, said.size() - done), 0);
    ASSERT_GT(sent, 0);
    done += static_cast<size_t>(sent);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  const auto arrived = receive(0, 1);
  ASSERT_EQ(arrived.size(), 1u);
  expect_message(arrived[0], 1, 0, data);
}

TEST_F(ConnectionsTest, listens_and_connects_by_ipv6_too) {
  make_nodes(2, 1);
  for (auto& each : nodes_) {
    close(each->listener);
    each->address.host = "::1";
    each->listener = listen_on_any_port("::1", each->address.port);
    if (each->listener < 0) GTEST_SKIP() << "no IPv6 here";
  }
  start_couriers();
  send(0, 1, 1, pattern(1000, 1));
  const auto arrived = receive(1, 1);
  ASSERT_EQ(arrived.size(), 1u);
  expect_message(arrived[0], 0, 1, pattern(1000, 1));
}

}  // namespace
}  // namespace spillway::courier
