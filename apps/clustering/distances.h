// Squared Euclidean distances between rows of floats. Differences, squares and sums are of 32 bits, each rounded,
// without fused multiplication and addition: of the same two rows always the same number, wherever and with whatever
// others it is computed. Sums are those of 32 columns each, added up in halves: one comes out at most `relative_error`
// too large or too small, because nothing that is added is negative.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "float_rows.h"

namespace apps::clustering {

// A number of a row must not be larger, so that no square overflows.
inline constexpr float kMostMagnitude = 1e15F;

// Rounding of difference (twice in its square), square, the sums of a column of blocks, and the halves.
constexpr double relative_error(size_t stride) {
  constexpr double kRounding = 0x1p-24;
  const size_t roundings = stride / FloatRows::kBlock + 10;
  return kRounding * static_cast<double>(roundings);
}

// Of a root, what squares that are too small for 32 bits may take from a distance, or add to it.
inline constexpr double kAbsoluteError = 1e-20;

float squared_distance(const float* first, const float* second, size_t stride);

// From one row to `count` rows from `others` on.
void squared_distances(const float* row, const float* others, size_t count, size_t stride, float* distances);

// Calls take(place, first, count, distances) so that each of `which` points, by its place there, gets the distances to
// all centers, in ascending order, in parts that stay in the processor's cache.
template <typename Function>
void for_each_distance(const FloatRows& points, std::span<const uint32_t> which, const FloatRows& centers,
                       Function take) {
  constexpr size_t kCentersOfPart = 8;
  constexpr size_t kPointsOfPart = 128;
  float distances[kCentersOfPart];
  for (size_t begin = 0; begin < which.size(); begin += kPointsOfPart) {
    const size_t end = std::min(begin + kPointsOfPart, which.size());
    for (size_t first = 0; first < centers.size(); first += kCentersOfPart) {
      const size_t count = std::min(kCentersOfPart, centers.size() - first);
      for (size_t place = begin; place < end; ++place) {
        squared_distances(points[which[place]], centers[first], count, points.stride(), distances);
        take(place, first, count, distances);
      }
    }
  }
}

// All of so many points.
inline std::vector<uint32_t> all_points(size_t count) {
  std::vector<uint32_t> which(count);
  std::iota(which.begin(), which.end(), 0U);
  return which;
}

}  // namespace apps::clustering
