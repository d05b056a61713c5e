#include "cluster.h"

#include <algorithm>
#include <string>

#include "simulation/star_links.h"

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

Cluster::Cluster(uint32_t nodes, uint32_t nodes_per_leaf, Latency latency)
    : nodes_per_leaf_(nodes_per_leaf), has_latency_(latency == Latency::in_links) {
  s4u::NetZone* core = s4u::create_star_zone("core");
  while (hosts_.size() < nodes) add_leaf(core, std::min<uint32_t>(nodes_per_leaf, nodes - hosts_.size()));
  core->seal();
}

void Cluster::add_leaf(s4u::NetZone* core, uint32_t nodes) {
  const std::string name = "leaf" + std::to_string(hosts_.size() / nodes_per_leaf_);
  s4u::NetZone* leaf = s4u::create_star_zone(name);
  leaf->set_parent(core);
  simgrid::kernel::routing::NetPoint* leaf_switch = leaf->create_router(name + "-switch");
  for (uint32_t i = 0; i < nodes; ++i) {
    const std::string host_name = "node" + std::to_string(hosts_.size());
    s4u::Host* host = leaf->create_host(host_name, 1e9);
    host->seal();
    connect(leaf, host->get_netpoint(), nullptr, host_name, kNodeBytesPerS, has_latency_ ? kNodeLatencyS : 0);
    hosts_.push_back(host);
  }
  leaf->seal();
  connect(core, leaf->get_netpoint(), leaf_switch, name, kUplinkBytesPerS, has_latency_ ? kUplinkLatencyS : 0);
}

double Cluster::latency_s(uint32_t from, uint32_t to) const {
  const bool is_one_leaf = from / nodes_per_leaf_ == to / nodes_per_leaf_;
  return 2 * (is_one_leaf ? kNodeLatencyS : kNodeLatencyS + kUplinkLatencyS);
}

}  // namespace spillway::simulation
