#include "cluster_iteration.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace apps::kmeans {

void check_message_size(const ClusterShape& shape) {
  constexpr uint64_t kMostValues = std::numeric_limits<int>::max() - 1024;  // a message has a few elements more
  if (shape.cluster_count > kMostValues / std::max<uint64_t>(shape.column_count, 1)) {
    throw std::runtime_error(std::to_string(shape.cluster_count) + " centroids of " +
                             std::to_string(shape.column_count) +
                             " columns are more values than MPI can count (2^31 - 1); ask for fewer with --clusters");
  }
}

ClusterIteration::ClusterIteration(MPI_Comm communicator, RowSource& rows, uint64_t own_row_count,
                                   uint64_t all_row_count, Centroids first)
    : communicator_(communicator),
      rows_(rows),
      all_row_count_(all_row_count),
      clusters_(own_row_count, kNoCluster),
      centroids_(std::move(first)) {
  MPI_Comm_rank(communicator_, &rank_);
  if (rank_ == 0) {
    centroids_.set_final(false);
  }
}

bool ClusterIteration::advance() {
  receive_centroids();
  if (centroids_.is_final()) {
    return false;
  }
  ClusterSums sums(centroids_.shape(), all_row_count_);
  assign_rows(sums);
  if (rank_ != 0) {
    centroids_.release();
  }
  reduce(sums);
  return true;
}

void ClusterIteration::receive_centroids() {
  if (rank_ != 0) {
    centroids_.allocate();
  }
  const std::span<float> message = centroids_.message();
  MPI_Bcast(message.data(), static_cast<int>(message.size()), MPI_FLOAT, 0, communicator_);
}

void ClusterIteration::assign_rows(ClusterSums& sums) {
  ClusterSweep sweep(centroids_, sums);
  rows_.sweep([&](uint64_t row, std::span<const MatrixEntry> entries) { sweep.visit(entries, clusters_[row]); });
}

void ClusterIteration::reduce(ClusterSums& sums) {
  const std::span<int64_t> message = sums.message();
  const auto count = static_cast<int>(message.size());
  if (rank_ != 0) {
    MPI_Reduce(message.data(), nullptr, count, MPI_INT64_T, MPI_SUM, 0, communicator_);
    return;
  }
  MPI_Reduce(MPI_IN_PLACE, message.data(), count, MPI_INT64_T, MPI_SUM, 0, communicator_);
  sums.update(centroids_);
  reassigned_rows_ = sums.reassigned_rows();
  objective_ = sums.objective();
  centroids_.set_final(reassigned_rows_ == 0);
}

uint64_t ClusterIteration::written_bytes() const {
  const ClusterShape& shape = centroids_.shape();
  return clusters_.size_bytes() + shape.value_count() * (sizeof(float) + sizeof(int64_t));
}

}  // namespace apps::kmeans
