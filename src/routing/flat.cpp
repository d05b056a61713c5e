#include "routing/broadcast.h"

namespace spillway::routing {

std::vector<Branch> flat_branches(uint32_t count) {
  std::vector<Branch> branches;
  for (uint32_t node = 1; node < count; ++node) branches.push_back({node, node + 1});
  return branches;
}

}  // namespace spillway::routing
