// One rank's rows of the adjacency matrix, in the order in which an iteration uses them.
//
// The edges of the rank's rows push to *ghosts*: vertices, mostly of other ranks, each of which gets one value per
// iteration, the sum of what this rank's rows push to it. Edges are stored grouped by ghost rather than by row, so that
// a ghost's value is summed in a register and written once, in order. What is read at random are the contributions of
// the rank's own rows: a vector of 1/p of the vertices, which fits in a cache where the ghosts' values (several times
// as many) would not.
//
// Ghosts are in order of their owner; those of one owner in order of how many edges they have; those with equally many
// in order of their row. So no array of offsets is needed, which would be a fifth of all that an iteration reads: a
// SourceRun says "the next `ghost_count` ghosts have `edges_per_ghost` edges each", there are few of them, and the loop
// over a ghost's edges does not mispredict its end. The owner adds up what it receives in a few ascending passes over
// its rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csr_file.h"
#include "large_array.h"
#include "row_partition.h"

namespace apps::pagerank {

struct SourceRun {
  uint32_t edges_per_ghost;
  uint32_t ghost_count;
};

// The ghosts that one owner has, as places in the arrays of LocalGraph.
struct OwnerPart {
  uint64_t first_source = 0;
  uint64_t first_ghost = 0;
  uint64_t ghost_count = 0;
  uint64_t first_run = 0;
  uint64_t run_count = 0;
};

class LocalGraph {
 public:
  // Reads the rank's rows and checks them; no communication. Throws what CsrReader throws.
  // Memory at the peak: 8 bytes for each edge of the rank (a single rank: 16); afterwards 4, and as much again for
  // ghost_rows until they are released.
  LocalGraph(const CsrReader& graph, const RowPartition& partition, int rank);

  [[nodiscard]] uint64_t row_count() const { return out_degrees_.size(); }
  [[nodiscard]] uint64_t ghost_count() const { return parts_.back().first_ghost + parts_.back().ghost_count; }
  [[nodiscard]] std::span<const uint32_t> out_degrees() const { return out_degrees_; }
  [[nodiscard]] const OwnerPart& part(int owner) const { return parts_[owner]; }

  // For each ghost its row, counted from its owner's first. The owners need it once.
  [[nodiscard]] const uint32_t* ghost_rows() const { return ghost_rows_.data(); }
  void release_ghost_rows() { ghost_rows_.release(); }

  // Sums for each ghost of `owner`, in order, the contributions of its sources: calls store(sum) for each.
  template <typename Store>
  void sum_ghosts(int owner, const double* contributions, const Store& store) const;

  [[nodiscard]] uint64_t bytes() const {
    return out_degrees_.size_bytes() + sources_.size_bytes() + runs_.size() * sizeof(SourceRun);
  }

 private:
  struct OwnerBuckets;
  OwnerBuckets bucket_edges(const CsrReader& graph, const RowPartition& partition, int rank);
  void group_by_ghost(OwnerBuckets& buckets, int owner, uint64_t owner_rows);

  LargeArray<uint32_t> out_degrees_;  // by row
  LargeArray<uint32_t> sources_;      // rows, counted from the rank's first
  LargeArray<uint32_t> ghost_rows_;
  std::vector<SourceRun> runs_;
  std::vector<OwnerPart> parts_;  // by owner
};

namespace detail {

// A count that the compiler knows is unrolled; most ghosts have few edges.
template <uint32_t kEdges, typename Store>
const uint32_t* sum_run(const uint32_t* source, uint32_t ghost_count, const double* contributions, const Store& store) {
  for (uint32_t ghost = 0; ghost < ghost_count; ++ghost) {
    double sum = 0;
    for (uint32_t edge = 0; edge < kEdges; ++edge) {
      sum += contributions[source[edge]];
    }
    source += kEdges;
    store(sum);
  }
  return source;
}

template <typename Store>
const uint32_t* sum_run(const uint32_t* source, SourceRun run, const double* contributions, const Store& store) {
  for (uint32_t ghost = 0; ghost < run.ghost_count; ++ghost) {
    double sum = 0;
    for (uint32_t edge = 0; edge < run.edges_per_ghost; ++edge) {
      sum += contributions[source[edge]];
    }
    source += run.edges_per_ghost;
    store(sum);
  }
  return source;
}

}  // namespace detail

template <typename Store>
void LocalGraph::sum_ghosts(int owner, const double* contributions, const Store& store) const {
  const OwnerPart& owned = parts_[owner];
  const uint32_t* source = sources_.data() + owned.first_source;
  for (const SourceRun& run : std::span(runs_).subspan(owned.first_run, owned.run_count)) {
    switch (run.edges_per_ghost) {
      case 1:
        source = detail::sum_run<1>(source, run.ghost_count, contributions, store);
        break;
      case 2:
        source = detail::sum_run<2>(source, run.ghost_count, contributions, store);
        break;
      case 3:
        source = detail::sum_run<3>(source, run.ghost_count, contributions, store);
        break;
      case 4:
        source = detail::sum_run<4>(source, run.ghost_count, contributions, store);
        break;
      default:
        source = detail::sum_run(source, run, contributions, store);
        break;
    }
  }
}

}  // namespace apps::pagerank
