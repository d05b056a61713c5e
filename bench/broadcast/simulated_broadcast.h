// A broadcast with the routes and branches of src/routing, between nodes that SimGrid simulates.
//
// Each connection is an actor, made when there is first something to send, as the courier's are. It sends one part
// after the other, and the node that a part comes to puts it into the connections of its branches: so a node receives
// and sends at the same time, on all its connections, and these share its link evenly, as TCP does. A part is sent on
// as soon as all of it has come, one latency after its last byte left.
//
// A connection is a stream: the next part follows the one before on the wire, it does not wait until that has arrived.
// In SimGrid each transfer would wait for the latency first, and several transfers at a time would share the link
// instead of coming one by one. So the simulated links have no latency, and it is added here. That sockets hold
// more than a part is on its way (6 KiB at 1 Gbit/s) is taken for granted; smaller ones slow down TCP (twister.txt,
// Table 9).
//
// What it leaves out: the nodes' own work, for they have memory for all data and copy it faster than the network does;
// lost packets; and acknowledgements, of which TCP sends one for two frames, 0.5% of the data's bytes with jumbo
// frames. SimGrid's own figure for those is 5%: simulate.cpp can have it.
#pragma once

#include <cstdint>
#include <deque>
#include <simgrid/s4u.hpp>
#include <unordered_map>
#include <vector>

#include "cluster.h"
#include "routing/broadcast.h"

namespace spillway::simulation {

class SimulatedBroadcast {
 public:
  // `order[i]` is the cluster's node that is number i of the routes; number 0 is the root.
  SimulatedBroadcast(const Cluster& cluster, routing::Broadcast algorithm, std::vector<uint32_t> order, uint64_t bytes,
                     uint64_t part_bytes);

  // To be called by an actor, once. Returns the seconds until all nodes have all data.
  double run();

 private:
  // Parts of a route for one node, which then looks after the route's nodes from `begin` to before `end`.
  struct Parts {
    double there_s;  // when they are at the sender
    uint32_t route;
    uint32_t begin;
    uint32_t end;
    uint64_t first_part;
    uint64_t end_part;
  };
  struct Connection {
    uint32_t from;
    uint32_t to;
    std::deque<Parts> waiting;
    bool is_idle = false;
    simgrid::s4u::SemaphorePtr bell = simgrid::s4u::Semaphore::create(0);
  };

  // The node that is first of parts.begin to parts.end sends the parts to its branches.
  void send_to_branches(const Parts& parts);
  Connection& connection(uint32_t from, uint32_t to);
  [[noreturn]] void serve(Connection& connection);
  uint64_t bytes_of(uint64_t part) const;

  const Cluster& cluster_;
  const routing::Broadcast algorithm_;
  const std::vector<uint32_t> order_;
  const uint64_t bytes_;
  const uint64_t part_bytes_;
  const std::vector<routing::Route> routes_;
  std::unordered_map<uint64_t, Connection> connections_;  // by both ends
  uint64_t missing_bytes_;                                // of all nodes
  double end_s_ = 0;
  simgrid::s4u::SemaphorePtr all_is_there_ = simgrid::s4u::Semaphore::create(0);
};

}  // namespace spillway::simulation
