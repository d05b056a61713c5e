// The ways that a broadcast takes from node to node, one algorithm per file. Knows neither data nor connections: who
// moves the data (courier/, and the simulation in bench/broadcast) asks it whom to send what.
//
// The data are cut into parts, which each node passes on as they come. A route is a range of parts, and the nodes that
// these go to, the root first. The node that has a route's parts looks after all nodes behind it: it sends them to
// some of these, each of which looks after the nodes behind it, up to the next one that is sent to.
//
// With p nodes, data that take a link n*b seconds, k parts of them and a seconds until a part is on its way
// (twister.txt, 4):
//   flat               (p - 1) (a + n*b)            each node gets all from the root
//   binomial           ceil(log2 p) (a + n*b)       who has the data sends them to one that has not; few steps for
//                                                   few bytes
//   chain              (p + k - 2) (a + n*b / k)    each node passes the parts on to the next: all links are busy
//   scatter-allgather  about the same, one link less to go for the first parts: each node gets a piece of the data from
//                      the root, and passes it on in a chain round all the others
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace spillway::routing {

enum class Broadcast : uint32_t { flat, binomial, chain, scatter_allgather };
inline constexpr uint32_t kBroadcastCount = 4;

const char* name_of(Broadcast algorithm);
// Returns false for what is no name of one.
bool find(std::string_view name, Broadcast& algorithm);

struct Route {
  std::vector<uint32_t> nodes;  // the root is 0; the others are 1 to count - 1, in the order of the network's topology
  uint64_t first_part;
  uint64_t end_part;
};

// All routes of `parts` > 0 parts from node 0 to `count` - 1 > 0 others.
std::vector<Route> routes(Broadcast algorithm, uint32_t count, uint64_t parts);

// Of the nodes of a route that a node looks after, itself being number 0: it sends to number `begin`, which then looks
// after those from `begin` to before `end`.
struct Branch {
  uint32_t begin;
  uint32_t end;
};

// `count` nodes, number 0 included, on a route of this algorithm. In the order in which they are sent to.
std::vector<Branch> branches(Broadcast algorithm, uint32_t count);

// One function per algorithm, of branches() and routes().
std::vector<Branch> flat_branches(uint32_t count);
std::vector<Branch> binomial_branches(uint32_t count);
std::vector<Branch> chain_branches(uint32_t count);
std::vector<Route> scatter_allgather_routes(uint32_t count, uint64_t parts);

}  // namespace spillway::routing
