#include "courier/branches.h"

namespace spillway::courier {

std::vector<NodeReceivers> by_node(const node::LocalRank& self, std::span<const uint32_t> receivers) {
  std::vector<NodeReceivers> nodes;
  for (size_t begin = 0, end; begin < receivers.size(); begin = end) {
    const uint32_t node = self.place_of(receivers[begin]).node;
    for (end = begin + 1; end < receivers.size() && self.place_of(receivers[end]).node == node;) ++end;
    nodes.push_back({node, receivers.subspan(begin, end - begin)});
  }
  return nodes;
}

std::vector<Onward> branches_of(const node::LocalRank& self, const MessageRoute& route) {
  const std::vector<NodeReceivers> others = by_node(self, route.receivers);
  std::vector<Onward> all;
  for (const routing::Branch& branch : routing::branches(route.algorithm, static_cast<uint32_t>(others.size()) + 1)) {
    const NodeReceivers &first = others[branch.begin - 1], &last = others[branch.end - 2];
    Onward onward{first.node, route};
    onward.route.receivers.assign(first.ranks.data(), last.ranks.data() + last.ranks.size());
    all.push_back(std::move(onward));
  }
  return all;
}

}  // namespace spillway::courier
