#include "routing/broadcast.h"

namespace spillway::routing {

// Twister's broadcast (twister.txt, 4.2): in the order of the topology, each link of the network carries the data once.
std::vector<Branch> chain_branches(uint32_t count) {
  if (count < 2) return {};
  return {{1, count}};
}

}  // namespace spillway::routing
