#include "kronecker.h"

#include <algorithm>

#include "random_bits.h"

namespace apps::pagerank {

namespace {

// Three levels of the recursion take 21 random bits each from one 64-bit draw: the probabilities are exact to 4.8e-7.
constexpr unsigned kLevelBits = 21;
constexpr unsigned kLevelsPerDraw = 3;
constexpr uint64_t level_threshold(double probability) {
  return static_cast<uint64_t>(probability * (uint64_t{1} << kLevelBits));
}
constexpr uint64_t kBelowA = level_threshold(0.57);
constexpr uint64_t kBelowAB = level_threshold(0.57 + 0.19);
constexpr uint64_t kBelowABC = level_threshold(0.57 + 0.19 + 0.19);

struct Endpoints {
  uint64_t source = 0;
  uint64_t target = 0;
};

// Descends `scale` levels; each chooses a quadrant of the adjacency matrix, without a branch.
Endpoints draw_edge(unsigned scale, RandomBits& random) {
  Endpoints edge;
  for (unsigned level = 0; level < scale;) {
    uint64_t draw = random.next();
    const unsigned stop = std::min(scale, level + kLevelsPerDraw);
    for (; level < stop; ++level, draw >>= kLevelBits) {
      const uint64_t sample = draw & ((uint64_t{1} << kLevelBits) - 1);
      const bool is_lower = sample >= kBelowAB;
      const bool is_right = (sample >= kBelowA) ^ is_lower ^ (sample >= kBelowABC);
      edge.source = edge.source << 1 | is_lower;
      edge.target = edge.target << 1 | is_right;
    }
  }
  return edge;
}

}  // namespace

KroneckerGenerator::KroneckerGenerator(unsigned scale, uint64_t edge_count, uint64_t seed)
    : scale_(scale), edge_count_(edge_count), seed_(seed), permutation_(scale, seed) {}

void KroneckerGenerator::make_block(uint64_t block, EntryBuckets<uint32_t>::Appender& appender) const {
  RandomBits random = random_stream(seed_, block);
  const uint64_t end = std::min(edge_count_, (block + 1) * kBlockEdges);
  for (uint64_t edge = block * kBlockEdges; edge < end; ++edge) {
    const Endpoints endpoints = draw_edge(scale_, random);
    if (endpoints.source != endpoints.target) {
      appender.append({static_cast<uint32_t>(permutation_(endpoints.source)),
                       static_cast<uint32_t>(permutation_(endpoints.target))});
    }
  }
}

}  // namespace apps::pagerank
