// Whom a node sends a route of a message to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "courier/outgoing_messages.h"
#include "node/local_rank.h"

namespace spillway::courier {

// Ranks of MPI_COMM_WORLD that one node has, as they follow each other in a list.
struct NodeReceivers {
  uint32_t node;
  std::span<const uint32_t> ranks;
};
std::vector<NodeReceivers> by_node(const node::LocalRank& self, std::span<const uint32_t> receivers);

// What goes to another node of a route, and to which.
struct Onward {
  uint32_t node;
  MessageRoute route;
};

// The route's receivers are those of the nodes that this one looks after, without its own.
std::vector<Onward> branches_of(const node::LocalRank& self, const MessageRoute& route);

}  // namespace spillway::courier
