#include "launch/node_ring.h"

#include <strings.h>

#include <algorithm>
#include <numeric>
#include <sstream>

namespace spillway::launch {
namespace {

std::string short_form(const std::string& host) { return host.substr(0, host.find('.')); }

bool is_same_host(const std::string& one, const std::string& other) {
  return strcasecmp(one.c_str(), other.c_str()) == 0 ||
         strcasecmp(short_form(one).c_str(), short_form(other).c_str()) == 0;
}

std::vector<NamedNode> parse(const std::string& listed) {
  std::vector<NamedNode> hosts;
  std::istringstream text(listed);
  for (std::string entry; std::getline(text, entry, ',');) {
    const size_t middle = entry.find('=');
    hosts.push_back({entry.substr(0, middle), middle == std::string::npos ? "" : entry.substr(middle + 1)});
  }
  return hosts;
}

}  // namespace

NodeRing ring_of(const std::vector<NamedNode>& nodes, const std::string& listed) {
  NodeRing ring;
  ring.nodes.resize(nodes.size());
  std::iota(ring.nodes.begin(), ring.nodes.end(), 0);
  if (listed.empty()) return ring;
  const std::vector<NamedNode> hosts = parse(listed);
  std::vector<size_t> places;
  for (const NamedNode& node : nodes) {
    auto found = std::ranges::find_if(hosts, [&](const auto& host) { return host.address == node.address; });
    if (found == hosts.end())
      found = std::ranges::find_if(hosts, [&](const auto& host) { return is_same_host(host.host, node.host); });
    if (found == hosts.end()) ring.unknown.push_back(node.host);
    places.push_back(static_cast<size_t>(found - hosts.begin()));
  }
  std::ranges::stable_sort(ring.nodes, {}, [&](uint32_t node) { return places[node]; });
  return ring;
}

}  // namespace spillway::launch
