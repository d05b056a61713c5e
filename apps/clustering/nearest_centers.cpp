#include "nearest_centers.h"

#include <algorithm>
#include <limits>

namespace apps::clustering {
namespace {

class WithoutBounds : public NearestCenters {
  void begin(const FloatRows& points, const FloatRows& centers, uint32_t /*round*/) override {
    nearest_.assign(points.size(), 0);
    std::vector<float> least(points.size(), std::numeric_limits<float>::infinity());
    for_each_distance(points, all_points(points.size()), centers,
                      [&](size_t point, size_t first, size_t count, const float* distances) {
                        for (size_t i = 0; i < count; ++i)
                          if (distances[i] < least[point]) {
                            least[point] = distances[i];
                            nearest_[point] = static_cast<uint32_t>(first + i);
                          }
                      });
  }
  void update(const FloatRows& points, Centers& centers, uint64_t& distances) override {
    begin(points, centers.rows(), centers.travels().round());
    distances += points.size() * centers.size();
  }
};

}  // namespace

Assignment NearestCenters::assign(const FloatRows& points, Centers& centers) {
  Assignment assignment;
  const uint64_t pairs = points.size() * centers.size();
  if (!has_begun_ && centers.previous().size() != 0) {
    begin(points, centers.previous(), centers.travels().round() - 1);
    assignment.distances += pairs;
    has_begun_ = true;
  }
  if (!has_begun_) {
    begin(points, centers.rows(), centers.travels().round());
    has_begun_ = true;
    return {points.size(), pairs};
  }
  const std::vector<uint32_t> before = nearest_;
  update(points, centers, assignment.distances);
  for (size_t point = 0; point < points.size(); ++point) assignment.changed += nearest_[point] != before[point];
  return assignment;
}

std::unique_ptr<NearestCenters> without_bounds() { return std::make_unique<WithoutBounds>(); }

std::unique_ptr<NearestCenters> nearest_centers(std::string_view bounds) {
  if (bounds == "none") return without_bounds();
  if (bounds == "elkan") return with_bounds_of_elkan();
  if (bounds == "drake-hamerly") return with_bounds_of_drake_and_hamerly();
  return nullptr;
}

}  // namespace apps::clustering
