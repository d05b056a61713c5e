#include "routing/broadcast.h"

#include <numeric>

namespace spillway::routing {
namespace {

constexpr const char* kNames[kBroadcastCount] = {"flat", "binomial", "chain", "scatter-allgather"};

}  // namespace

const char* name_of(Broadcast algorithm) { return kNames[static_cast<uint32_t>(algorithm)]; }

bool find(std::string_view name, Broadcast& algorithm) {
  for (uint32_t i = 0; i < kBroadcastCount; ++i) {
    if (name != kNames[i]) continue;
    algorithm = static_cast<Broadcast>(i);
    return true;
  }
  return false;
}

std::vector<Route> routes(Broadcast algorithm, uint32_t count, uint64_t parts) {
  if (algorithm == Broadcast::scatter_allgather) return scatter_allgather_routes(count, parts);
  Route all{std::vector<uint32_t>(count), 0, parts};
  std::iota(all.nodes.begin(), all.nodes.end(), 0);
  return {all};
}

std::vector<Branch> branches(Broadcast algorithm, uint32_t count) {
  switch (algorithm) {
    case Broadcast::flat:
      return flat_branches(count);
    case Broadcast::binomial:
      return binomial_branches(count);
    case Broadcast::chain:
    case Broadcast::scatter_allgather:
      break;
  }
  return chain_branches(count);
}

}  // namespace spillway::routing
