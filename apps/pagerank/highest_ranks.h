// The vertices of highest rank.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace apps::pagerank {

struct RankedVertex {
  double rank;
  uint64_t vertex;
};

// Higher rank first; of equal ones the lower vertex.
bool is_higher(const RankedVertex& left, const RankedVertex& right);

// The `count` highest of `ranks`, in the order of is_higher().
std::vector<RankedVertex> highest_ranks(std::span<const double> ranks, uint64_t first_vertex, uint64_t count);

}  // namespace apps::pagerank
