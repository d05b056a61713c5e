#include "launch/node_ring.h"

#include <gtest/gtest.h>

namespace spillway::launch {
namespace {

const std::vector<NamedNode> kNodes{{"a.site", "10.0.0.1"}, {"b", "10.0.0.2"}, {"C", "10.0.0.3"}, {"d", "10.0.0.4"}};

TEST(NodeRing, has_the_nodes_as_they_are_numbered_when_nothing_is_said) {
  const NodeRing ring = ring_of(kNodes, "");
  EXPECT_EQ(ring.nodes, (std::vector<uint32_t>{0, 1, 2, 3}));
  EXPECT_TRUE(ring.unknown.empty());
}

TEST(NodeRing, finds_hosts_by_their_addresses_whatever_they_are_called) {
  const NodeRing ring = ring_of(kNodes, "w=10.0.0.3,x=10.0.0.1,y=10.0.0.4,z=10.0.0.2");
  EXPECT_EQ(ring.nodes, (std::vector<uint32_t>{2, 0, 3, 1}));
  EXPECT_TRUE(ring.unknown.empty());
}

TEST(NodeRing, finds_hosts_by_their_names_with_or_without_domain) {
  const NodeRing ring = ring_of(kNodes, "c.site=,d=192.168.1.1,A=,b=");
  EXPECT_EQ(ring.nodes, (std::vector<uint32_t>{2, 3, 0, 1}));
  EXPECT_TRUE(ring.unknown.empty());
}

TEST(NodeRing, has_hosts_that_nobody_has_named_last) {
  const NodeRing ring = ring_of(kNodes, "d=10.0.0.4,c=10.0.0.3");
  EXPECT_EQ(ring.nodes, (std::vector<uint32_t>{3, 2, 0, 1}));
  EXPECT_EQ(ring.unknown, (std::vector<std::string>{"a.site", "b"}));
}

TEST(NodeRing, has_virtual_nodes_of_a_host_together) {
  const std::vector<NamedNode> nodes{{"a", "10.0.0.1"}, {"b", "10.0.0.2"}, {"a", "10.0.0.1"}};
  EXPECT_EQ(ring_of(nodes, "b=10.0.0.2,a=10.0.0.1").nodes, (std::vector<uint32_t>{1, 0, 2}));
}

}  // namespace
}  // namespace spillway::launch
