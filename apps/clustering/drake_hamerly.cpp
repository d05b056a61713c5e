#include <limits>
#include <utility>

#include "nearest_centers.h"

namespace apps::clustering {
namespace {

class DrakeHamerly : public NearestCenters {
  // A center that was near, and a lower bound of the distance to it.
  struct Neighbour {
    float lower;
    uint32_t center;
    bool operator<(const Neighbour& other) const { return lower < other.lower; }
  };

  // A lower bound of the distance to all centers that are neither the nearest nor neighbours, as it was in a round; and
  // how many distances have been computed since, because it did not suffice.
  struct Rest {
    float lower;
    uint32_t round;
    uint32_t distances;
  };

  void begin(const FloatRows& points, const FloatRows& centers, uint32_t round) override {
    count_ = std::min(std::max<size_t>(centers.size() / 4, 1), centers.size() - 1);
    is_known_.assign(centers.size(), false);
    nearest_.assign(points.size(), 0);
    upper_.assign(points.size(), 0);
    rest_.assign(points.size(), {});
    neighbours_.resize(points.size() * count_);
    compare_with_all(points, all_points(points.size()), centers, round);
  }

  void update(const FloatRows& points, Centers& centers, uint64_t& distances) override {
    const Travels& travels = centers.travels();
    size_t most_needed = std::min(std::max<size_t>(centers.size() / 8, 1), count_);
    for (size_t point = 0; point < points.size(); ++point) {
      move_away(centers, point);
      if (travels.is_forgotten_next(rest_[point].round)) renew_rest(travels, point);
      most_needed = std::max(most_needed, search(points, centers, point, distances));
    }
    compare_with_all(points, unresolved_, centers.rows(), travels.round());
    distances += unresolved_.size() * centers.size();
    unresolved_.clear();
    keep_fewer(travels, most_needed);
  }

  [[nodiscard]] std::span<Neighbour> neighbours_of(size_t point) {
    return std::span(neighbours_).subspan(point * count_, count_);
  }

  // Neighbours may have come nearer, and the center of the point may be farther away.
  void move_away(const Centers& centers, size_t point) {
    upper_[point] = rounded_up(static_cast<double>(upper_[point]) + centers.movements()[nearest_[point]]);
    for (Neighbour& neighbour : neighbours_of(point))
      neighbour.lower = rounded_down(static_cast<double>(neighbour.lower) - centers.movements()[neighbour.center]);
  }

  // Before its round is forgotten.
  void renew_rest(const Travels& travels, size_t point) {
    Rest& rest = rest_[point];
    rest.lower = rounded_down(static_cast<double>(rest.lower) - travels.most_since(rest.round));
    rest.round = travels.round();
  }

  [[nodiscard]] bool rest_may_be_near(const Travels& travels, size_t point) const {
    const Rest& rest = rest_[point];
    return rest.lower * kLess - travels.most_since(rest.round) <= upper_[point];
  }

  // Returns how many neighbours' bounds did not suffice. Where too many others might be near, leaves the point
  // unresolved.
  size_t search(const FloatRows& points, const Centers& centers, size_t point, uint64_t& distances) {
    const std::span<Neighbour> neighbours = neighbours_of(point);
    const auto is_near = [&](const Neighbour& neighbour) { return neighbour.lower <= upper_[point]; };
    const Travels& travels = centers.travels();
    if (!rest_may_be_near(travels, point) && std::ranges::none_of(neighbours, is_near)) return 0;
    const auto distance_to = [&](uint32_t center) {
      ++distances;
      return squared_distance(points[point], centers.rows()[center], points.stride());
    };
    float least = distance_to(nearest_[point]);
    upper_[point] = centers.bounds().upper(least);
    // Leaves in `other` whichever is farther away of it and what was the nearest.
    const auto compare = [&](Neighbour& other) {
      const float distance = distance_to(other.center);
      other.lower = centers.bounds().lower(distance);
      if (distance > least || (distance == least && nearest_[point] < other.center)) return;
      other.lower = centers.bounds().lower(std::exchange(least, distance));
      std::swap(nearest_[point], other.center);
      upper_[point] = centers.bounds().upper(least);
    };
    const auto needed = static_cast<size_t>(std::ranges::count_if(neighbours, is_near));
    for (Neighbour& neighbour : neighbours)
      if (is_near(neighbour)) compare(neighbour);
    if (!rest_may_be_near(travels, point)) return needed;
    find_near_others(travels, point);
    rest_[point].distances += static_cast<uint32_t>(others_.size());
    if (rest_[point].distances > centers.size() / 2) {
      unresolved_.push_back(static_cast<uint32_t>(point));
      return count_;
    }
    for (Neighbour& other : others_)
      if (is_near(other)) compare(other);
    take_as_neighbours(travels, point);
    return needed;
  }

  // Those of the rest whose own way since the rest's bound was found does not leave them out of question.
  void find_near_others(const Travels& travels, size_t point) {
    const Rest& rest = rest_[point];
    const auto mark = [&](bool is_known) {
      is_known_[nearest_[point]] = is_known;
      for (const Neighbour& neighbour : neighbours_of(point)) is_known_[neighbour.center] = is_known;
    };
    mark(true);
    others_.clear();
    for (uint32_t center = 0; center < is_known_.size(); ++center) {
      const float lower = rest.lower * kLess - travels.since(rest.round, center);
      if (lower <= upper_[point] && !is_known_[center]) others_.push_back({lower, center});
    }
    mark(false);
  }

  // `others_`, where they are nearer than neighbours; these are of the rest then.
  void take_as_neighbours(const Travels& travels, size_t point) {
    const std::span<Neighbour> neighbours = neighbours_of(point);
    others_.insert(others_.end(), neighbours.begin(), neighbours.end());
    const auto farther = others_.begin() + static_cast<std::ptrdiff_t>(count_);
    std::nth_element(others_.begin(), farther, others_.end());
    std::copy(others_.begin(), farther, neighbours.begin());
    for (auto other = farther; other != others_.end(); ++other) add_to_rest(travels, point, *other);
  }

  void add_to_rest(const Travels& travels, size_t point, const Neighbour& neighbour) {
    Rest& rest = rest_[point];
    const double lower = static_cast<double>(neighbour.lower) + travels.since(rest.round, neighbour.center);
    rest.lower = std::min(rest.lower, rounded_down(lower));
  }

  void compare_with_all(const FloatRows& points, std::span<const uint32_t> which, const FloatRows& centers,
                        uint32_t round) {
    constexpr size_t kMostAtATime = 128;
    while (!which.empty()) {
      const auto some = which.first(std::min(which.size(), kMostAtATime));
      squared_.resize(some.size() * centers.size());
      for_each_distance(points, some, centers, [&](size_t place, size_t first, size_t count, const float* distances) {
        std::copy(distances, distances + count, squared_.begin() + place * centers.size() + first);
      });
      for (size_t place = 0; place < some.size(); ++place)
        choose(some[place], std::span(squared_).subspan(place * centers.size(), centers.size()), points.stride(),
               round);
      which = which.subspan(some.size());
    }
  }

  // The nearest center of a point, and its neighbours, by the squared distances to all.
  void choose(size_t point, std::span<const float> squared, size_t stride, uint32_t round) {
    const Bounds bounds(stride);
    const auto nearest = static_cast<uint32_t>(std::ranges::min_element(squared) - squared.begin());
    nearest_[point] = nearest;
    upper_[point] = bounds.upper(squared[nearest]);
    others_.clear();
    for (uint32_t center = 0; center < squared.size(); ++center)
      if (center != nearest) others_.push_back({squared[center], center});
    const auto farther = others_.begin() + static_cast<std::ptrdiff_t>(count_);
    std::nth_element(others_.begin(), farther, others_.end());
    const float rest = farther == others_.end() ? std::numeric_limits<float>::infinity() : bounds.lower(farther->lower);
    rest_[point] = {rest, round, 0};
    for (size_t i = 0; i < count_; ++i) neighbours_of(point)[i] = {bounds.lower(others_[i].lower), others_[i].center};
  }

  // The nearest ones; the others are of the rest from now on.
  void keep_fewer(const Travels& travels, size_t count) {
    if (count >= count_) return;
    for (size_t point = 0; point < rest_.size(); ++point) {
      const std::span<Neighbour> neighbours = neighbours_of(point);
      const auto farther = neighbours.begin() + static_cast<std::ptrdiff_t>(count);
      std::nth_element(neighbours.begin(), farther, neighbours.end());
      for (auto other = farther; other != neighbours.end(); ++other) add_to_rest(travels, point, *other);
      std::copy(neighbours.begin(), farther, neighbours_.begin() + static_cast<std::ptrdiff_t>(point * count));
    }
    count_ = count;
    neighbours_.resize(rest_.size() * count_);
    neighbours_.shrink_to_fit();
  }

  static constexpr auto kLess = static_cast<float>(1 - kConversion);

  size_t count_ = 0;  // neighbours of each point
  std::vector<float> upper_;
  std::vector<Rest> rest_;
  std::vector<Neighbour> neighbours_;
  std::vector<uint32_t> unresolved_;  // points that are to be compared with all centers in this round
  std::vector<float> squared_;        // of some points, to all centers
  // For one point at a time.
  std::vector<Neighbour> others_;
  std::vector<char> is_known_;
};

}  // namespace

std::unique_ptr<NearestCenters> with_bounds_of_drake_and_hamerly() { return std::make_unique<DrakeHamerly>(); }

}  // namespace apps::clustering
