#include "center_sums.h"

#include <algorithm>
#include <numeric>

#include "distances.h"

namespace apps::clustering {

std::vector<size_t> CenterBlocks::begins_of_centers(std::span<const uint32_t> nearest) const {
  std::vector<size_t> begins(centers_ + 1);
  for (const uint32_t center : nearest) ++begins[center + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  return begins;
}

std::vector<size_t> CenterBlocks::points_by_center(std::span<const uint32_t> nearest, std::vector<size_t> places) {
  std::vector<size_t> order(nearest.size());
  for (size_t point = 0; point < nearest.size(); ++point) order[places[nearest[point]]++] = point;
  return order;
}

void CenterBlocks::add_points(const FloatRows& points, std::span<const size_t> members, double* sums) {
  sums[0] += static_cast<double>(members.size());
  for (const size_t point : members) {
    const float* features = points[point];
    for (size_t column = 0; column < points.columns(); ++column) sums[1 + column] += features[column];
  }
}

FloatRows CenterBlocks::means(size_t block, std::span<const double> sums, const FloatRows& before) const {
  const size_t columns = before.columns();
  FloatRows rows(columns, end(block) - begin(block));
  for (size_t row = 0; row < rows.size(); ++row) {
    const float* old = before[begin(block) + row];
    const double* sum = sums.data() + row * (1 + columns) + 1;
    const double count = sum[-1];
    for (size_t column = 0; column < columns; ++column)
      rows[row][column] = count == 0 ? old[column] : static_cast<float>(sum[column] / count);
  }
  return rows;
}

double inertia(const FloatRows& points, std::span<const uint32_t> nearest, const FloatRows& centers) {
  double sum = 0;
  for (size_t point = 0; point < points.size(); ++point)
    sum += squared_distance(points[point], centers[nearest[point]], points.stride());
  return sum;
}

}  // namespace apps::clustering
