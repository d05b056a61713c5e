// Edges of a Kronecker graph with the parameters of Graph500 (A = .57, B = .19, C = .19), whose vertices are renumbered
// at random: without that the vertices of high degree would come first, and any decomposition by rows would be a good
// one. Every edge depends on the seed and its own number only, so any number of threads makes the same graph.
#pragma once

#include <cstdint>

#include "entry_buckets.h"
#include "random_permutation.h"

namespace apps::pagerank {

class KroneckerGenerator {
 public:
  // REQUIRES: scale from 1 to 32.
  KroneckerGenerator(unsigned scale, uint64_t edge_count, uint64_t seed);

  // Edges are made in blocks that can be made in any order: block b of block_count().
  [[nodiscard]] uint64_t block_count() const { return (edge_count_ + kBlockEdges - 1) / kBlockEdges; }
  // Appends the edges of a block except those from a vertex to itself.
  void make_block(uint64_t block, EntryBuckets<uint32_t>::Appender& appender) const;

 private:
  static constexpr uint64_t kBlockEdges = uint64_t{1} << 16;

  unsigned scale_;
  uint64_t edge_count_;
  uint64_t seed_;
  BitPermutation permutation_;
};

}  // namespace apps::pagerank
