// In which order broadcasts pass the nodes of a job: those of a rack one after the other, so that the connections
// between racks carry the data once (twister.txt, 4.3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spillway::launch {

struct NamedNode {
  std::string host;     // as it calls itself
  std::string address;  // that it has connected from
};

struct NodeRing {
  std::vector<uint32_t> nodes;       // all, by number
  std::vector<std::string> unknown;  // hosts that the list does not name; they come last
};

// `listed` is "name=address,name=address,..." in the order wanted; empty: as they are numbered.
NodeRing ring_of(const std::vector<NamedNode>& nodes, const std::string& listed);

}  // namespace spillway::launch
