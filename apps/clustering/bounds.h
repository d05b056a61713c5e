// Bounds of distances that hold in spite of rounding. Those below concern distances as they are computed (distances.h):
// a distance with a lower bound above another one's upper bound comes out larger, whenever it is computed.
#pragma once

#include <algorithm>
#include <cmath>

#include "distances.h"

namespace apps::clustering {

// Of 32 bits, and rounded away from the number once more than its conversion may have rounded it towards it.
inline constexpr double kConversion = 0x1p-22;
inline float rounded_up(double number) { return static_cast<float>(number * (1 + kConversion)); }
inline float rounded_down(double number) { return static_cast<float>(std::max(number * (1 - kConversion), 0.0)); }

// Of rows with as many columns. A squared distance comes out within 1 - e and 1 + e of the true one. An upper bound is
// at least (1 + e) times the true distance and a lower one at most (1 - e) times, so that what is computed of a
// distance cannot be smaller than what is computed of one whose upper bound is below its lower bound. As both kinds
// concern true distances, the triangle inequality holds for them: a bound of the distance to a center which has moved
// is the old one, and how far.
class Bounds {
 public:
  explicit Bounds(size_t stride) : error_(relative_error(stride)) {}

  [[nodiscard]] float upper(float squared) const {
    return rounded_up(std::sqrt(static_cast<double>(squared)) * (1 + 3 * error_) + 3 * kAbsoluteError);
  }
  [[nodiscard]] float lower(float squared) const {
    return rounded_down(std::sqrt(static_cast<double>(squared)) * (1 - 3 * error_) - 3 * kAbsoluteError);
  }

 private:
  double error_;
};

}  // namespace apps::clustering
