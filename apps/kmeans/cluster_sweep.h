// One iteration's work on rows: each goes to the cluster of the closest centroid, and is added to that one's sum, of
// which the next centroid is made.
//
// All sums are of 64-bit integers, so that they do not depend on the order: not on the number of ranks, nor on how MPI
// reduces. A value counts in units of 2^-fraction_bits. As no value of a row exceeds 1, no sum over `row_count` rows
// exceeds row_count * 2^fraction_bits, and fraction_bits = 62 - bit_width(row_count) keeps that below 2^62, whatever is
// added first. With 2^32 rows, the most that a file holds, the unit is still 2^-29, and with 30 million 2^-37.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "centroids.h"
#include "csr_format.h"
#include "large_array.h"

namespace apps::kmeans {

inline constexpr int32_t kNoCluster = -1;  // of rows without entries, and of all rows at first

class ClusterSums {
 public:
  // `row_count`: of the whole matrix.
  ClusterSums(const ClusterShape& shape, uint64_t row_count);
  void clear() { std::fill(sums_.begin(), sums_.end(), 0); }

  void add_row(int32_t cluster, std::span<const MatrixEntry> row, float similarity);
  void count_reassigned() { ++last(kReassigned); }

  // Each centroid becomes its cluster's sum, scaled to length 1. One whose cluster is empty, or whose rows cancel each
  // other out, stays.
  void update(Centroids& centroids) const;
  [[nodiscard]] uint64_t reassigned_rows() const { return static_cast<uint64_t>(last(kReassigned)); }
  // Sum over all rows of their similarities with their centroids.
  [[nodiscard]] double objective() const { return static_cast<double>(last(kObjective)) / scale_; }

  // What is added up over all ranks.
  [[nodiscard]] std::span<int64_t> message() { return sums_; }

 private:
  // Behind the sums of values, for which see add_row().
  enum LastSums : uint64_t { kReassigned, kObjective, kLastSumCount };

  int64_t& last(LastSums sum) { return sums_[shape_.value_count() + sum]; }
  [[nodiscard]] const int64_t& last(LastSums sum) const { return sums_[shape_.value_count() + sum]; }
  [[nodiscard]] int64_t in_units(float value) const { return static_cast<int64_t>(value * scale_); }

  ClusterShape shape_;
  float scale_;               // 2^fraction_bits
  LargeArray<int64_t> sums_;  // by cluster, then by column
};

class ClusterSweep {
 public:
  // Both must outlive it.
  ClusterSweep(const Centroids& centroids, ClusterSums& sums)
      : centroids_(centroids), sums_(sums), similarities_(centroids.shape().cluster_count) {}

  // `cluster` is the row's, before and after. Of equally close centroids the first is the closest. Rows without entries
  // are left out.
  void visit(std::span<const MatrixEntry> row, int32_t& cluster);

 private:
  void compute_similarities(std::span<const MatrixEntry> row);
  template <size_t kEntryCount>
  void add_similarities(std::span<const MatrixEntry, kEntryCount> entries);
  void prefetch(uint64_t column) const;

  const Centroids& centroids_;
  ClusterSums& sums_;
  std::vector<float> similarities_;  // of the row that is visited, by cluster
};

}  // namespace apps::kmeans
