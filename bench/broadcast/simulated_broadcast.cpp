#include "simulated_broadcast.h"

#include <algorithm>
#include <utility>

namespace spillway::simulation {

namespace s4u = simgrid::s4u;

namespace {

constexpr double kClockPrecisionS = 1e-9;  // SimGrid's

std::vector<routing::Route> routes_of(routing::Broadcast algorithm, uint32_t count, uint64_t bytes,
                                      uint64_t part_bytes) {
  return routing::routes(algorithm, count, (bytes + part_bytes - 1) / part_bytes);
}

}  // namespace

SimulatedBroadcast::SimulatedBroadcast(const Cluster& cluster, routing::Broadcast algorithm,
                                       std::vector<uint32_t> order, uint64_t bytes, uint64_t part_bytes)
    : cluster_(cluster),
      algorithm_(algorithm),
      order_(std::move(order)),
      bytes_(bytes),
      part_bytes_(part_bytes),
      routes_(routes_of(algorithm, static_cast<uint32_t>(order_.size()), bytes, part_bytes)),
      missing_bytes_(bytes * (order_.size() - 1)) {}

double SimulatedBroadcast::run() {
  const double begin_s = s4u::Engine::get_clock();
  for (uint32_t i = 0; i < routes_.size(); ++i) {
    const routing::Route& route = routes_[i];
    const auto count = static_cast<uint32_t>(route.nodes.size());
    send_to_branches({begin_s, i, 0, count, route.first_part, route.end_part});
  }
  all_is_there_->acquire();
  return end_s_ - begin_s;
}

void SimulatedBroadcast::send_to_branches(const Parts& parts) {
  const std::vector<uint32_t>& nodes = routes_[parts.route].nodes;
  for (const routing::Branch& branch : routing::branches(algorithm_, parts.end - parts.begin)) {
    Parts share = parts;
    share.begin = parts.begin + branch.begin;
    share.end = parts.begin + branch.end;
    Connection& to_branch = connection(nodes[parts.begin], nodes[share.begin]);
    to_branch.waiting.push_back(share);
    if (std::exchange(to_branch.is_idle, false)) to_branch.bell->release();
  }
}

SimulatedBroadcast::Connection& SimulatedBroadcast::connection(uint32_t from, uint32_t to) {
  const auto [entry, is_new] = connections_.try_emplace(uint64_t{from} << 32 | to);
  Connection& found = entry->second;
  if (is_new) {
    found.from = order_[from];
    found.to = order_[to];
    s4u::Actor::create("connection", cluster_.host(found.from), [this, &found] { serve(found); })->daemonize();
  }
  return found;
}

void SimulatedBroadcast::serve(Connection& connection) {
  s4u::Host *from = cluster_.host(connection.from), *to = cluster_.host(connection.to);
  const double latency_s = cluster_.latency_s(connection.from, connection.to);
  for (;;) {
    while (connection.waiting.empty()) {
      connection.is_idle = true;
      connection.bell->acquire();
    }
    const Parts parts = connection.waiting.front();
    connection.waiting.pop_front();
    if (parts.there_s > s4u::Engine::get_clock() + kClockPrecisionS) s4u::this_actor::sleep_until(parts.there_s);
    for (uint64_t part = parts.first_part; part < parts.end_part; ++part) {
      s4u::Comm::sendto(from, to, bytes_of(part));
      const double there_s = s4u::Engine::get_clock() + latency_s;
      end_s_ = std::max(end_s_, there_s);
      send_to_branches({there_s, parts.route, parts.begin, parts.end, part, part + 1});
      missing_bytes_ -= bytes_of(part);
      if (missing_bytes_ == 0) all_is_there_->release();
    }
  }
}

uint64_t SimulatedBroadcast::bytes_of(uint64_t part) const {
  return std::min(part_bytes_, bytes_ - part * part_bytes_);
}

}  // namespace spillway::simulation
