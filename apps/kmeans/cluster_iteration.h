// K-means over all ranks: rank 0 has the centroids and broadcasts them, each rank assigns its rows and adds them up,
// and a reduction gives rank 0 the sums that the next centroids are made of. A rank has two points at which it waits
// for others, and holds at both only what is on its way.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "centroids.h"
#include "cluster_sweep.h"
#include "large_array.h"
#include "row_source.h"

namespace apps::kmeans {

class ClusterIteration {
 public:
  // `rows`, of which this rank has `own_row_count` and all ranks `all_row_count`, must outlive it. `first` has values
  // on rank 0 only.
  ClusterIteration(MPI_Comm communicator, RowSource& rows, uint64_t own_row_count, uint64_t all_row_count,
                   Centroids first);

  // Collective: one iteration. False, with nothing done, when the one before has reassigned no row.
  bool advance();

  // Of this rank's rows.
  [[nodiscard]] std::span<const int32_t> clusters() const { return clusters_; }
  // Of all ranks in the last iteration, on rank 0.
  [[nodiscard]] uint64_t reassigned_rows() const { return reassigned_rows_; }
  [[nodiscard]] double objective() const { return objective_; }
  // Of what an iteration writes: clusters, centroids and sums.
  [[nodiscard]] uint64_t written_bytes() const;

 private:
  void receive_centroids();
  void assign_rows(ClusterSums& sums);
  void reduce(ClusterSums& sums);

  MPI_Comm communicator_;
  int rank_ = 0;
  RowSource& rows_;
  const uint64_t all_row_count_;
  LargeArray<int32_t> clusters_;  // by row
  Centroids centroids_;           // on other ranks than 0 with values only while rows are assigned
  uint64_t reassigned_rows_ = 0;
  double objective_ = 0;
};

// Throws when a message of that shape has more elements than MPI can count.
void check_message_size(const ClusterShape& shape);

}  // namespace apps::kmeans
