#include "routing/broadcast.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>

namespace spillway::routing {
namespace {

constexpr Broadcast kAll[] = {Broadcast::flat, Broadcast::binomial, Broadcast::chain, Broadcast::scatter_allgather};

// What each node gets, and how much goes from node to node.
struct Traffic {
  std::map<std::pair<uint32_t, uint64_t>, int> received;         // by node and part
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> link_parts;  // by sender and receiver
  std::map<uint32_t, uint64_t> sent_parts;
  uint32_t longest_way = 0;  // in links
};

Traffic traffic_of(Broadcast algorithm, uint32_t count, uint64_t parts) {
  Traffic traffic;
  for (const Route& route : routes(algorithm, count, parts)) {
    const std::function<void(uint32_t, uint32_t, uint32_t)> look_after = [&](uint32_t begin, uint32_t end,
                                                                             uint32_t links) {
      traffic.longest_way = std::max(traffic.longest_way, links);
      for (const Branch& branch : branches(algorithm, end - begin)) {
        const uint32_t from = route.nodes[begin], to = route.nodes[begin + branch.begin];
        for (uint64_t part = route.first_part; part < route.end_part; ++part) ++traffic.received[{to, part}];
        traffic.link_parts[{from, to}] += route.end_part - route.first_part;
        traffic.sent_parts[from] += route.end_part - route.first_part;
        look_after(begin + branch.begin, begin + branch.end, links + 1);
      }
    };
    look_after(0, static_cast<uint32_t>(route.nodes.size()), 0);
  }
  return traffic;
}

TEST(Broadcast, brings_every_part_to_every_node_once) {
  for (const Broadcast algorithm : kAll)
    for (uint32_t count = 2; count < 40; ++count)
      for (const uint64_t parts : {1, 2, 7, 64}) {
        const Traffic traffic = traffic_of(algorithm, count, parts);
        EXPECT_EQ(traffic.received.size(), (count - 1) * parts) << name_of(algorithm) << ", " << count;
        for (const auto& [where, times] : traffic.received) {
          EXPECT_EQ(times, 1);
          EXPECT_NE(where.first, 0u);
          EXPECT_LT(where.first, count);
          EXPECT_LT(where.second, parts);
        }
      }
}

TEST(Broadcast, of_a_chain_uses_each_link_in_the_order_of_the_nodes_once) {
  const Traffic traffic = traffic_of(Broadcast::chain, 9, 5);
  ASSERT_EQ(traffic.link_parts.size(), 8u);
  for (const auto& [link, parts] : traffic.link_parts) {
    EXPECT_EQ(link.second, link.first + 1);
    EXPECT_EQ(parts, 5u);
  }
}

TEST(Broadcast, flat_has_the_root_send_all) {
  const Traffic traffic = traffic_of(Broadcast::flat, 9, 5);
  ASSERT_EQ(traffic.sent_parts.size(), 1u);
  EXPECT_EQ(traffic.sent_parts.at(0), 40u);
}

TEST(Broadcast, binomial_takes_logarithmically_many_steps) {
  for (uint32_t count = 2; count < 200; ++count) {
    const Traffic traffic = traffic_of(Broadcast::binomial, count, 1);
    const auto steps = static_cast<uint64_t>(std::bit_width(count - 1));
    EXPECT_LE(traffic.longest_way, steps) << count;
    EXPECT_EQ(traffic.sent_parts.at(0), steps) << count;
  }
}

TEST(Broadcast, by_scatter_and_allgather_has_no_node_send_more_than_the_data) {
  const Traffic traffic = traffic_of(Broadcast::scatter_allgather, 9, 64);
  for (const auto& [node, parts] : traffic.sent_parts) EXPECT_LE(parts, 64u) << node;
  EXPECT_EQ(traffic.sent_parts.at(0), 64u);
}

TEST(Broadcast, algorithms_are_found_by_their_names) {
  for (const Broadcast algorithm : kAll) {
    Broadcast found{};
    EXPECT_TRUE(find(name_of(algorithm), found));
    EXPECT_EQ(found, algorithm);
  }
  Broadcast found = Broadcast::chain;
  EXPECT_FALSE(find("ring", found));
  EXPECT_EQ(found, Broadcast::chain);
}

}  // namespace
}  // namespace spillway::routing
