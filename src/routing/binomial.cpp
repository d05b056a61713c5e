#include "routing/broadcast.h"

namespace spillway::routing {

// A minimum spanning tree: the node in the middle gets the data first and looks after the second half, then the same
// with the first half. Neighbours in the order stay together, so that few branches leave a rack.
std::vector<Branch> binomial_branches(uint32_t count) {
  std::vector<Branch> branches;
  while (count > 1) {
    const uint32_t middle = (count + 1) / 2;
    branches.push_back({middle, count});
    count = middle;
  }
  return branches;
}

}  // namespace spillway::routing
