// Of each center what its points sum up to, in blocks of consecutive centers: for each center the number of its points,
// and their sum in each column.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "float_rows.h"

namespace apps::clustering {

class CenterBlocks {
 public:
  CenterBlocks(size_t centers, size_t centers_of_block) : centers_(centers), centers_of_block_(centers_of_block) {}

  [[nodiscard]] size_t size() const { return (centers_ + centers_of_block_ - 1) / centers_of_block_; }
  [[nodiscard]] size_t begin(size_t block) const { return block * centers_of_block_; }
  [[nodiscard]] size_t end(size_t block) const { return std::min(begin(block + 1), centers_); }

  // Calls take(block, sums) for each block that has points, with one block's sums at a time in memory.
  template <typename Function>
  void for_each_sum(const FloatRows& points, std::span<const uint32_t> nearest, Function take) const {
    const std::vector<size_t> begins = begins_of_centers(nearest);
    const std::vector<size_t> order = points_by_center(nearest, begins);
    for (size_t block = 0; block < size(); ++block) {
      if (begins[begin(block)] == begins[end(block)]) continue;
      std::vector<double> sums((end(block) - begin(block)) * (1 + points.columns()));
      for (size_t center = begin(block); center < end(block); ++center)
        add_points(points, std::span(order).subspan(begins[center], begins[center + 1] - begins[center]),
                   sums.data() + (center - begin(block)) * (1 + points.columns()));
      take(block, sums);
    }
  }

  // The centers of a block after a round: the means of their points, or as before where there are none.
  [[nodiscard]] FloatRows means(size_t block, std::span<const double> sums, const FloatRows& before) const;

 private:
  // Of each center, how many points belong to those before it; and one number more, of all.
  [[nodiscard]] std::vector<size_t> begins_of_centers(std::span<const uint32_t> nearest) const;
  static std::vector<size_t> points_by_center(std::span<const uint32_t> nearest, std::vector<size_t> places);
  static void add_points(const FloatRows& points, std::span<const size_t> members, double* sums);

  size_t centers_;
  size_t centers_of_block_;
};

// The sum of the points' squared distances to their centers. Computes one distance for each point: sums of squares,
// which would do without, lose everything by rounding where points are far from each other and near their centers.
double inertia(const FloatRows& points, std::span<const uint32_t> nearest, const FloatRows& centers);

}  // namespace apps::clustering
