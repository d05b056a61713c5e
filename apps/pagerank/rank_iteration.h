// The PageRank vector and its iteration: rank(v) = (1 - d) / n + d * (sum over u -> v of rank(u) / degree(u) + D / n),
// where D is the rank of all vertices without successors, which is spread evenly. Ranks sum to 1.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "ghost_exchange.h"
#include "large_array.h"
#include "local_graph.h"

namespace apps::pagerank {

class RankIteration {
 public:
  // `graph` and `exchange` must outlive it.
  RankIteration(const LocalGraph& graph, const GhostExchange& exchange, int rank, uint64_t vertex_count,
                double damping);

  // Collective: one iteration. Vectors that live only within it are allocated in it, and released as early as can be.
  void advance();

  // Of this rank's rows.
  [[nodiscard]] std::span<const double> ranks() const { return ranks_; }
  // L1 difference that the last iteration made: in this rank's rows; and that the one before the last made in all.
  [[nodiscard]] double local_change() const { return local_change_; }
  [[nodiscard]] double previous_change() const { return previous_change_; }
  [[nodiscard]] uint64_t iteration_count() const { return iteration_count_; }

 private:
  [[nodiscard]] LargeArray<double> contributions(double* dangling) const;

  const LocalGraph& graph_;
  const GhostExchange& exchange_;
  const int rank_;
  const double vertex_count_;
  const double damping_;
  LargeArray<double> ranks_;
  uint64_t iteration_count_ = 0;
  double local_change_ = 0;
  double previous_change_ = 0;
};

}  // namespace apps::pagerank
