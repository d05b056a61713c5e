#include "cluster.h"

#include <algorithm>
#include <string>

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
  const auto connect = [this](s4u::NetZone* zone, const std::string& what, double bytes_per_s, double latency_s) {
    s4u::Link* link = zone->create_split_duplex_link(what + "-link", bytes_per_s);
    if (has_latency_) link->set_latency(latency_s);
    link->seal();
    return std::vector<s4u::LinkInRoute>{{link, s4u::LinkInRoute::Direction::UP}};
  };
  for (uint32_t i = 0; i < nodes; ++i) {
    const std::string host_name = "node" + std::to_string(hosts_.size());
    s4u::Host* host = leaf->create_host(host_name, 1e9);
    host->seal();
    leaf->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    connect(leaf, host_name, kNodeBytesPerS, kNodeLatencyS), true);
    hosts_.push_back(host);
  }
  leaf->seal();
  core->add_route(leaf->get_netpoint(), nullptr, leaf_switch, nullptr,
                  connect(core, name, kUplinkBytesPerS, kUplinkLatencyS), true);
}

double Cluster::latency_s(uint32_t from, uint32_t to) const {
  const bool is_one_leaf = from / nodes_per_leaf_ == to / nodes_per_leaf_;
  return 2 * (is_one_leaf ? kNodeLatencyS : kNodeLatencyS + kUplinkLatencyS);
}

}  // namespace spillway::simulation
