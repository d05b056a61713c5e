#include "routing/broadcast.h"

namespace spillway::routing {

// Van de Geijn's broadcast (twister.txt, 4.1), without a barrier between its two phases: the i-th node gets its piece
// from the root and passes it on as soon as there is a part of it, round the ring of the others. Each node but the root
// receives from the one before it in the ring all pieces but its own, all at the same time.
std::vector<Route> scatter_allgather_routes(uint32_t count, uint64_t parts) {
  const uint32_t others = count - 1;
  std::vector<Route> routes;
  for (uint32_t piece = 0; piece < others; ++piece) {
    Route route{{0}, parts * piece / others, parts * (piece + 1) / others};
    if (route.first_part == route.end_part) continue;
    for (uint32_t step = 0; step < others; ++step) route.nodes.push_back(1 + (piece + step) % others);
    routes.push_back(route);
  }
  return routes;
}

}  // namespace spillway::routing
