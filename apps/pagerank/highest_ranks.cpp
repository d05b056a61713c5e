#include "highest_ranks.h"

#include <algorithm>

namespace apps::pagerank {

bool is_higher(const RankedVertex& left, const RankedVertex& right) {
  return left.rank != right.rank ? left.rank > right.rank : left.vertex < right.vertex;
}

std::vector<RankedVertex> highest_ranks(std::span<const double> ranks, uint64_t first_vertex, uint64_t count) {
  std::vector<RankedVertex> heap;  // its front is the lowest of those kept
  for (size_t row = 0; row < ranks.size() && count > 0; ++row) {
    const RankedVertex candidate{ranks[row], first_vertex + row};
    if (heap.size() == count && !is_higher(candidate, heap.front())) {
      continue;
    }
    if (heap.size() == count) {
      std::pop_heap(heap.begin(), heap.end(), is_higher);
      heap.pop_back();
    }
    heap.push_back(candidate);
    std::push_heap(heap.begin(), heap.end(), is_higher);
  }
  std::sort_heap(heap.begin(), heap.end(), is_higher);
  return heap;
}

}  // namespace apps::pagerank
