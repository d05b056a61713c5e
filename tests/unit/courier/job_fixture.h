// A job of several nodes in one process: each has its own segment, ranks and courier, as on machines of its own.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "courier/courier.h"
#include "message/message_fixture.h"

namespace spillway::courier {

using message::Cell;
using message::CellKind;
using message::kMiB;
using message::pattern;
using message::Rank;

inline constexpr const char* kSecret = "secret of this job";

// What a rank has found in its mailbox.
struct Arrived {
  Cell cell;
  std::vector<std::byte> data;
};

class TestNode {
 public:
  TestNode(uint32_t index, const std::vector<node::RankPlace>& places, uint32_t node_count, uint64_t budget_bytes)
      : segment(node::Segment::create(config_of(index, places, node_count, budget_bytes))) {
    listener = listen_on_any_port("127.0.0.1", address.port);
    for (uint32_t rank = 0; rank < places.size(); ++rank) {
      if (places[rank].node != index) continue;
      ranks.push_back(std::make_unique<Rank>(segment, places[rank].index, spill));
      ranks.back()->self.record().world_rank = static_cast<int32_t>(rank);
      ranks.back()->self.set_courier_bell(bell.number());
    }
  }

  void start(const std::vector<NodeAddress>& nodes, const std::string& secret, const routing::Selection& selection) {
    std::vector<uint32_t> ring(nodes.size());
    std::iota(ring.begin(), ring.end(), 0);
    const CourierConfig config{nodes,         ring,     selection,    secret,
                               bell.number(), listener, {dup(spill)}, base::SpillDirectories(".")};
    courier = std::make_unique<Courier>(node::mapped_again(segment), config);
    courier->start();
  }

  bool is_problem_reported() const {
    pollfd event{courier->problem_descriptor(), POLLIN, 0};
    return poll(&event, 1, 0) == 1;
  }

  static node::SegmentConfig config_of(uint32_t index, const std::vector<node::RankPlace>& places, uint32_t node_count,
                                       uint64_t budget_bytes) {
    const auto ranks = std::ranges::count_if(places, [&](node::RankPlace place) { return place.node == index; });
    node::SegmentConfig config = message::message_config(static_cast<uint32_t>(ranks), budget_bytes);
    config.node_count = node_count;
    config.node_index = index;
    config.places = places;
    return config;
  }

  node::Segment segment;
  base::Descriptor bell{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  int spill = message::spill_file();
  NodeAddress address{"127.0.0.1", 0};
  int listener = -1;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::unique_ptr<Courier> courier;
};

// Waits until condition() holds, for a few seconds at most.
template <typename Condition>
bool comes_true(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

class JobTest : public testing::Test {
 protected:
  // Ranks are dealt to the nodes in blocks: rank r runs on node r / ranks_per_node.
  void make_nodes(uint32_t nodes, uint32_t ranks_per_node, uint64_t budget_bytes = 256 * kMiB) {
    std::vector<node::RankPlace> places;
    for (uint32_t rank = 0; rank < nodes * ranks_per_node; ++rank)
      places.push_back({rank / ranks_per_node, rank % ranks_per_node});
    for (uint32_t node = 0; node < nodes; ++node)
      nodes_.push_back(std::make_unique<TestNode>(node, places, nodes, budget_bytes));
  }

  void start_couriers() {
    for (auto& each : nodes_) each->start(addresses(), kSecret, selection_);
  }

  void start_job(uint32_t nodes, uint32_t ranks_per_node, uint64_t budget_bytes = 256 * kMiB) {
    make_nodes(nodes, ranks_per_node, budget_bytes);
    start_couriers();
  }

  std::vector<NodeAddress> addresses() const {
    std::vector<NodeAddress> all;
    all.reserve(nodes_.size());
    for (const auto& each : nodes_) all.push_back(each->address);
    return all;
  }

  TestNode& node(uint32_t index) { return *nodes_[index]; }

  Rank& rank(uint32_t world_rank) {
    const node::RankPlace place = nodes_[0]->segment.places()[world_rank];
    return *nodes_[place.node]->ranks[place.index];
  }

  Cell message_of(uint32_t sender, int32_t tag, const std::vector<std::byte>& data) {
    Cell cell{};
    cell.kind = CellKind::message;
    cell.context = 0x123456789abcdef0 + sender;
    cell.source = static_cast<int32_t>(sender);
    cell.tag = tag;
    cell.bytes = data.size();
    cell.sender = sender;
    if (data.size() > node::kInlineBytes)
      cell.payload = rank(sender).store.put(data.data(), data.size());
    else
      std::ranges::copy(data, cell.inlined);
    return cell;
  }

  void send(uint32_t from, uint32_t to, int32_t tag, const std::vector<std::byte>& data) {
    Cell cell = message_of(from, tag, data);
    cell.to = to;
    rank(from).mailbox.push(to, cell);
  }

  // A connection to the node's courier over which the test says what it likes; blocking, for two seconds.
  base::Descriptor call(uint32_t index) {
    base::Descriptor connection(socket(AF_INET, SOCK_STREAM, 0));
    const timeval limit{2, 0};
    setsockopt(connection.number(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(node(index).address.port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(connection.number(), reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
    return connection;
  }

  template <typename Record>
  static void say(const base::Descriptor& connection, const Record& record) {
    ASSERT_EQ(::send(connection.number(), &record, sizeof record, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof record));
  }

  // The next `count` cells that come to the rank, their payloads read and released.
  std::vector<Arrived> receive(uint32_t at, uint64_t count) {
    std::vector<Arrived> arrived;
    const bool all_came = comes_true([&] {
      rank(at).mailbox.take_all([&](const Cell& cell) { arrived.push_back(Arrived{cell, data_of(at, cell)}); });
      return arrived.size() >= count;
    });
    EXPECT_TRUE(all_came) << arrived.size() << " of " << count << " came to rank " << at;
    return arrived;
  }

  std::vector<std::byte> data_of(uint32_t at, const Cell& cell) {
    std::vector<std::byte> data(cell.bytes);
    if (cell.payload.place == message::Place::none) {
      std::copy_n(cell.inlined, cell.bytes, data.begin());
      return data;
    }
    rank(at).store.copy_out(cell.payload, data.data(), data.size());
    rank(at).store.release(cell.payload);
    return data;
  }

  void expect_message(const Arrived& arrived, uint32_t sender, int32_t tag, const std::vector<std::byte>& data) {
    EXPECT_EQ(arrived.cell.kind, CellKind::message);
    EXPECT_EQ(arrived.cell.sender, sender);
    EXPECT_EQ(arrived.cell.source, static_cast<int32_t>(sender));
    EXPECT_EQ(arrived.cell.context, 0x123456789abcdef0 + sender);
    EXPECT_EQ(arrived.cell.tag, tag);
    EXPECT_TRUE(arrived.data == data) << "message " << tag << " of rank " << sender;
  }

  // Chunks of the node's store that are in use, in memory and on storage.
  uint64_t used_chunks(uint32_t index) {
    node::Segment& segment = node(index).segment;
    const node::SegmentHeader& header = segment.header();
    return message::ChunkPool(segment, header.memory_pool_offset, header.memory_chunk_count).used_chunks() +
           message::ChunkPool(segment, header.spill_pool_offset, header.spill_chunk_count).used_chunks();
  }

  void expect_nothing_is_left() {
    for (uint32_t index = 0; index < nodes_.size(); ++index)
      EXPECT_TRUE(comes_true([&] { return used_chunks(index) == 0; })) << used_chunks(index) << " on node " << index;
  }

  void expect_no_problem() {
    for (auto& each : nodes_) EXPECT_FALSE(each->is_problem_reported()) << each->courier->problem().text;
  }

  std::vector<std::unique_ptr<TestNode>> nodes_;
  routing::Selection selection_;  // of couriers that are to be started
};

}  // namespace spillway::courier
