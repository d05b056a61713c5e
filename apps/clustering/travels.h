// How far centers have moved since earlier rounds: upper bounds. Keeps 4 bytes for each center and each of the last
// rounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "bounds.h"

namespace apps::clustering {

class Travels {
 public:
  static constexpr uint32_t kRounds = 64;

  explicit Travels(size_t centers = 0) : travelled_(1, std::vector<float>(centers)), most_(1) {}

  // From 0, the one in which this was made.
  [[nodiscard]] uint32_t round() const { return oldest_ + static_cast<uint32_t>(travelled_.size() - 1); }
  // Whether nothing will be known of it in the next one.
  [[nodiscard]] bool is_forgotten_next(uint32_t round) const {
    return round == oldest_ && travelled_.size() == kRounds;
  }

  void add(const std::vector<float>& movements) {
    std::vector<float> now = travelled_.back();
    for (size_t center = 0; center < now.size(); ++center)
      now[center] = rounded_up(static_cast<double>(now[center]) + movements[center]);
    travelled_.push_back(std::move(now));
    if (travelled_.size() > kRounds) {
      travelled_.pop_front();
      ++oldest_;
    }
    most_.assign(travelled_.size(), 0);
    for (uint32_t place = 0; place < travelled_.size(); ++place)
      for (size_t center = 0; center < movements.size(); ++center)
        most_[place] = std::max(most_[place], since(oldest_ + place, center));
  }

  // Of one center. The difference of rounded numbers is larger than the sum of its movements, or less by one more
  // rounding.
  [[nodiscard]] float since(uint32_t round, size_t center) const {
    constexpr auto kMore = static_cast<float>(1 + kConversion);
    return (travelled_.back()[center] - travelled_[round - oldest_][center]) * kMore;
  }
  // Of the one that has moved farthest.
  [[nodiscard]] float most_since(uint32_t round) const { return most_[round - oldest_]; }

 private:
  std::deque<std::vector<float>> travelled_;  // since the first round
  std::vector<float> most_;
  uint32_t oldest_ = 0;  // that is known
};

}  // namespace apps::clustering
