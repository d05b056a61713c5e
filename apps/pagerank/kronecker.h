// Edges of a Kronecker graph with the parameters of Graph500 (A = .57, B = .19, C = .19), whose vertices are renumbered
// at random: without that the vertices of high degree would come first, and any decomposition by rows would be a good
// one. Every edge depends on the seed and its own number only, so any number of threads makes the same graph.
#pragma once

#include <cstdint>

#include "edge_buckets.h"

namespace pagerank {

// A pseudorandom bijection of [0, 2^bits). It needs no table: each of its steps (multiply by an odd number, add,
// exclusive or with the own high half) can be undone modulo 2^bits.
class VertexPermutation {
 public:
  VertexPermutation(unsigned bits, uint64_t seed);

  uint64_t operator()(uint64_t vertex) const {
    for (int round = 0; round < kRounds; ++round) {
      vertex = (vertex * multipliers_[round] + increments_[round]) & mask_;
      vertex ^= vertex >> shift_;
    }
    return vertex;
  }

 private:
  static constexpr int kRounds = 4;
  uint64_t multipliers_[kRounds];
  uint64_t increments_[kRounds];
  uint64_t mask_;
  unsigned shift_;
};

class KroneckerGenerator {
 public:
  // REQUIRES: scale from 1 to 32.
  KroneckerGenerator(unsigned scale, uint64_t edge_count, uint64_t seed);

  // Edges are made in blocks that can be made in any order: block b of block_count().
  [[nodiscard]] uint64_t block_count() const { return (edge_count_ + kBlockEdges - 1) / kBlockEdges; }
  // Appends the edges of a block except those from a vertex to itself.
  void make_block(uint64_t block, EdgeBuckets::Appender& appender) const;

 private:
  static constexpr uint64_t kBlockEdges = uint64_t{1} << 16;

  unsigned scale_;
  uint64_t edge_count_;
  uint64_t seed_;
  VertexPermutation permutation_;
};

}  // namespace pagerank
