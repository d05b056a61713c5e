#include <limits>

#include "nearest_centers.h"

namespace apps::clustering {
namespace {

class Elkan : public NearestCenters {
  void begin(const FloatRows& points, const FloatRows& centers, uint32_t /*round*/) override {
    const Bounds bounds(points.stride());
    std::vector<float> least(points.size(), std::numeric_limits<float>::infinity());
    nearest_.assign(points.size(), 0);
    lower_.resize(points.size() * centers.size());
    for_each_distance(points, all_points(points.size()), centers,
                      [&](size_t point, size_t first, size_t count, const float* distances) {
                        for (size_t i = 0; i < count; ++i) {
                          lower_[point * centers.size() + first + i] = bounds.lower(distances[i]);
                          if (distances[i] < least[point]) {
                            least[point] = distances[i];
                            nearest_[point] = static_cast<uint32_t>(first + i);
                          }
                        }
                      });
    upper_.resize(points.size());
    for (size_t point = 0; point < points.size(); ++point) upper_[point] = bounds.upper(least[point]);
  }

  void update(const FloatRows& points, Centers& centers, uint64_t& distances) override {
    for (size_t point = 0; point < points.size(); ++point) {
      const uint32_t nearest = nearest_[point];
      float* lower = lower_.data() + point * centers.size();
      move_away(lower, centers.movements());
      upper_[point] = rounded_up(static_cast<double>(upper_[point]) + centers.movements()[nearest]);
      if (upper_[point] >= centers.half_distance_to_nearest(nearest)) search(points, centers, point, lower, distances);
    }
  }

  // All centers may have come nearer.
  static void move_away(float* lower, const std::vector<float>& movements) {
    constexpr auto kLess = static_cast<float>(1 - kConversion);
    for (size_t center = 0; center < movements.size(); ++center)
      lower[center] = std::max((lower[center] - movements[center]) * kLess, 0.0F);
  }

  void search(const FloatRows& points, Centers& centers, size_t point, float* lower, uint64_t& distances) {
    const auto distance_to = [&](uint32_t center) {
      const float distance = squared_distance(points[point], centers.rows()[center], points.stride());
      lower[center] = centers.bounds().lower(distance);
      ++distances;
      return distance;
    };
    uint32_t nearest = nearest_[point];
    const float* half_distances = centers.half_distances(nearest);
    find_candidates(lower, half_distances, centers.size(), upper_[point]);
    if (candidates_.empty()) return;
    float least = distance_to(nearest);
    float upper = centers.bounds().upper(least);
    for (const uint32_t center : candidates_) {
      if (std::max(lower[center], half_distances[center]) > upper) continue;
      const float distance = distance_to(center);
      if (distance > least || (distance == least && nearest < center)) continue;
      nearest = center;
      least = distance;
      upper = centers.bounds().upper(least);
      half_distances = centers.half_distances(nearest);
    }
    nearest_[point] = nearest;
    upper_[point] = upper;
  }

  // Those that no bound rules out: never the nearest one, which is infinitely far from itself.
  void find_candidates(const float* lower, const float* half_distances, size_t count, float upper) {
    constexpr size_t kStep = 32;
    candidates_.clear();
    const auto is_near = [&](size_t center) { return std::max(lower[center], half_distances[center]) <= upper; };
    for (size_t begin = 0; begin < count; begin += kStep) {
      const size_t end = std::min(begin + kStep, count);
      int near = 0;
      for (size_t center = begin; center < end; ++center) near += is_near(center) ? 1 : 0;
      if (near == 0) continue;
      for (size_t center = begin; center < end; ++center)
        if (is_near(center)) candidates_.push_back(static_cast<uint32_t>(center));
    }
  }

  std::vector<float> upper_;
  std::vector<float> lower_;          // of each point, to all centers
  std::vector<uint32_t> candidates_;  // for one point at a time
};

}  // namespace

std::unique_ptr<NearestCenters> with_bounds_of_elkan() { return std::make_unique<Elkan>(); }

}  // namespace apps::clustering
