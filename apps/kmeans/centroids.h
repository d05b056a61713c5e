// The centroids of all clusters. Those of one column lie next to each other, so that what an entry of a row adds to the
// row's similarities with all clusters is one loop over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "csr_format.h"
#include "large_array.h"

namespace apps::kmeans {

struct ClusterShape {
  uint64_t cluster_count;
  uint64_t column_count;

  [[nodiscard]] uint64_t value_count() const { return cluster_count * column_count; }
};

class Centroids {
 public:
  // Has no memory for values yet.
  explicit Centroids(const ClusterShape& shape) : shape_(shape) {}

  // Values are undefined.
  void allocate() { values_ = LargeArray<float>(shape_.value_count() + 1); }
  void release() { values_.release(); }
  void fill_with_zeros() { std::fill(values_.begin(), values_.end(), 0.0F); }

  [[nodiscard]] const ClusterShape& shape() const { return shape_; }
  [[nodiscard]] const float* of_column(uint64_t column) const { return values_.data() + column * shape_.cluster_count; }
  float* of_column(uint64_t column) { return values_.data() + column * shape_.cluster_count; }

  // What is broadcast: the values, and behind them whether there is anything left to do.
  [[nodiscard]] std::span<float> message() { return values_; }
  void set_final(bool is_final) { values_[shape_.value_count()] = is_final ? 1 : 0; }
  [[nodiscard]] bool is_final() const { return values_[shape_.value_count()] != 0; }

 private:
  ClusterShape shape_;
  LargeArray<float> values_;
};

}  // namespace apps::kmeans
