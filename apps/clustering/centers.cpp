#include "centers.h"

#include <limits>
#include <utility>

namespace apps::clustering {

void Centers::take(std::string_view bytes) {
  std::swap(previous_, rows_);
  rows_.take(bytes);
  half_distances_.clear();
  movements_.assign(previous_.size(), 0);
  for (size_t center = 0; center < previous_.size(); ++center) {
    movements_[center] = bounds_.upper(squared_distance(previous_[center], rows_[center], rows_.stride()));
  }
  if (previous_.size() == 0) {
    travels_ = Travels(size());
  } else {
    travels_.add(movements_);
  }
  distances_ += previous_.size();
}

const float* Centers::half_distances(size_t center) {
  if (half_distances_.empty()) compute_half_distances();
  return half_distances_.data() + center * size();
}

float Centers::half_distance_to_nearest(size_t center) {
  if (half_distances_.empty()) compute_half_distances();
  return half_distances_to_nearest_[center];
}

uint64_t Centers::taken_distances() { return std::exchange(distances_, 0); }

void Centers::compute_half_distances() {
  const size_t count = size();
  half_distances_.assign(count * count, std::numeric_limits<float>::infinity());
  std::vector<float> squared(count);
  for (size_t center = 1; center < count; ++center) {
    squared_distances(rows_[center], rows_[0], center, rows_.stride(), squared.data());
    for (size_t other = 0; other < center; ++other) {
      const float half = bounds_.lower(squared[other]) / 2;
      half_distances_[center * count + other] = half_distances_[other * count + center] = half;
    }
  }
  distances_ += count * (count - 1) / 2;
  half_distances_to_nearest_.clear();
  for (size_t center = 0; center < count; ++center) {
    const float* of_center = half_distances_.data() + center * count;
    half_distances_to_nearest_.push_back(*std::min_element(of_center, of_center + count));
  }
}

}  // namespace apps::clustering
