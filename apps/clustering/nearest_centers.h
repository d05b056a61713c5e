// Which center is nearest to each point: of several as near, the first one. Three ways that come to the same, and
// compute all distances, or only those which bounds from earlier rounds do not rule out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "centers.h"

namespace apps::clustering {

struct Assignment {
  uint64_t changed = 0;    // points that have another center than in the round before
  uint64_t distances = 0;  // between points and centers that were computed
};

// Of the same points in all rounds.
class NearestCenters {
 public:
  virtual ~NearestCenters() = default;

  // The next round of `centers`. Where it was not called for the round before (the first time, or because what it knew
  // was lost), it makes up for that round, so that what has changed is said as otherwise.
  Assignment assign(const FloatRows& points, Centers& centers);

  [[nodiscard]] std::span<const uint32_t> nearest() const { return nearest_; }

 protected:
  // Computes all distances, and takes from them whatever the other one needs. The round is that of Travels.
  virtual void begin(const FloatRows& points, const FloatRows& centers, uint32_t round) = 0;
  // Changes `nearest_`, and counts distances.
  virtual void update(const FloatRows& points, Centers& centers, uint64_t& distances) = 0;

  std::vector<uint32_t> nearest_;

 private:
  bool has_begun_ = false;
};

// Lloyd's: all distances, in each round.
std::unique_ptr<NearestCenters> without_bounds();

// Elkan 2003: of each point an upper bound of the distance to its center, and a lower one of the distance to each
// center. Takes 4 bytes for each pair.
std::unique_ptr<NearestCenters> with_bounds_of_elkan();

// Drake and Hamerly 2012: lower bounds for the centers that were nearest when the point was last compared with all, and
// one for all the others. As many as an eighth to a quarter of the centers: as many as some point needed in the round
// before. Takes 8 bytes for each. Other than theirs, these bounds are in no order, and each counts for its own center.
std::unique_ptr<NearestCenters> with_bounds_of_drake_and_hamerly();

// `none`, `elkan` or `drake-hamerly`; null for another name.
std::unique_ptr<NearestCenters> nearest_centers(std::string_view bounds);

}  // namespace apps::clustering
