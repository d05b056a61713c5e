// The random numbers that the sort benchmark's records are made of: a linear congruential generator modulo 2^128 that
// begins at 0, and may begin anywhere in its sequence.
#pragma once

#include <cstdint>

namespace apps::records {

__extension__ using Number = unsigned __int128;

inline constexpr Number number_of(uint64_t high, uint64_t low) { return Number{high} << 64 | low; }

class RandomSequence {
 public:
  // The next number is that after the first `skipped` ones. n steps are a multiplication and an addition, too, and 2n
  // steps are those of n done twice.
  explicit constexpr RandomSequence(uint64_t skipped = 0) {
    Number multiplier = kMultiplier;
    Number increment = kIncrement;
    for (; skipped != 0; skipped >>= 1) {
      if ((skipped & 1) != 0) last_ = last_ * multiplier + increment;
      increment = increment * multiplier + increment;
      multiplier *= multiplier;
    }
  }

  constexpr Number next() { return last_ = last_ * kMultiplier + kIncrement; }

 private:
  static constexpr Number kMultiplier = number_of(0x2360ed051fc65da4, 0x4385df649fccf645);
  static constexpr Number kIncrement = number_of(0x4a696d4772617952, 0x4950202020202001);

  Number last_ = 0;
};

}  // namespace apps::records
