// A power law of exponent 1 over ranks 0 to size - 1: rank k has a share proportional to the integral of 1 / x from
// k + offset to k + 1 + offset. With offset 1 that is Zipf's law, in which the first ranks stand out; a larger offset
// gives the first `offset` ranks about the same share. It needs no table. Draws are the same wherever the C library's
// exponential function and logarithm are, to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "random_bits.h"

namespace apps::matrix {

class PowerLaw {
 public:
  PowerLaw(uint64_t size, double offset)
      : size_(size), offset_(offset), log_range_(std::log1p(static_cast<double>(size) / offset)) {}

  // The share of all ranks below `rank` together; exactly 1 for `size`.
  [[nodiscard]] double share_below(uint64_t rank) const {
    return std::log1p(static_cast<double>(rank) / offset_) / log_range_;
  }

  uint64_t draw(RandomBits& random) const {
    const double rank = offset_ * (std::exp(random.next_fraction() * log_range_) - 1);
    return std::min(static_cast<uint64_t>(std::max(rank, 0.0)), size_ - 1);
  }

 private:
  uint64_t size_;
  double offset_;
  double log_range_;
};

}  // namespace apps::matrix
