// The centers of a round, and what all points share of them: how far each has moved since the round before, and how far
// they are from each other.
#pragma once

#include <cstdint>
#include <vector>

#include "bounds.h"
#include "float_rows.h"
#include "travels.h"

namespace apps::clustering {

class Centers {
 public:
  explicit Centers(size_t columns) : rows_(columns), previous_(columns), bounds_(rows_.stride()) {}

  // Those of the next round: FloatRows::bytes().
  void take(std::string_view bytes);

  [[nodiscard]] const FloatRows& rows() const { return rows_; }
  [[nodiscard]] size_t size() const { return rows_.size(); }
  [[nodiscard]] const Bounds& bounds() const { return bounds_; }

  // Those of the round before, or none.
  [[nodiscard]] const FloatRows& previous() const { return previous_; }
  // Since then: upper bounds.
  [[nodiscard]] const std::vector<float>& movements() const { return movements_; }
  // Since earlier rounds, as Travels counts them.
  [[nodiscard]] const Travels& travels() const { return travels_; }

  // Lower bounds of half the distance from a center to each of them, but infinity to itself. Computed when they are
  // first asked for in a round.
  [[nodiscard]] const float* half_distances(size_t center);
  // The least of them.
  [[nodiscard]] float half_distance_to_nearest(size_t center);

  // Between centers, computed since the last call.
  uint64_t taken_distances();

 private:
  void compute_half_distances();

  FloatRows rows_;
  FloatRows previous_;
  Bounds bounds_;
  std::vector<float> movements_;
  Travels travels_;
  std::vector<float> half_distances_;  // row by row; empty as long as nobody asked
  std::vector<float> half_distances_to_nearest_;
  uint64_t distances_ = 0;
};

}  // namespace apps::clustering
