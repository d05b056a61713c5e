// A cluster as SimGrid simulates it: two levels of switches, as in twister.txt, 6.1. Nodes are linked to leaf switches
// at 1 Gbit/s, leaf switches to one core switch at 10 Gbit/s, all full duplex. The switches themselves carry whatever
// their links do.
#pragma once

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <vector>

namespace spillway::simulation {

// What TCP leaves of a link with jumbo frames: of a frame of 9000 bytes, headers and time stamp take 52; on the wire it
// takes 38 more. The paper's time, 8.08 s for 10^9 bytes, is just this.
inline constexpr double kGoodput = 8948.0 / 9038.0;
inline constexpr double kNodeBytesPerS = 1e9 / 8 * kGoodput;
inline constexpr double kUplinkBytesPerS = 10 * kNodeBytesPerS;

// One way, with what the systems at both ends take: 50 microseconds under one leaf switch, which is usual for TCP on
// such links, and two more switches between leaves.
inline constexpr double kNodeLatencyS = 25e-6;
inline constexpr double kUplinkLatencyS = 5e-6;

class Cluster {
 public:
  // Where latencies are left out of the simulated links, whoever sends has to add latency_s().
  enum class Latency { in_links, left_out };

  // Leaf switches are filled one after the other.
  Cluster(uint32_t nodes, uint32_t nodes_per_leaf, Latency latency);

  simgrid::s4u::Host* host(uint32_t node) const { return hosts_[node]; }
  double latency_s(uint32_t from, uint32_t to) const;

 private:
  void add_leaf(simgrid::s4u::NetZone* core, uint32_t nodes);

  uint32_t nodes_per_leaf_;
  bool has_latency_;
  std::vector<simgrid::s4u::Host*> hosts_;
};

}  // namespace spillway::simulation
