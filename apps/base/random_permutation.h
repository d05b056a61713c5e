// Pseudorandom bijections that need no table.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

namespace apps {

// Of [0, 2^bits): each of its steps (multiply by an odd number, add, exclusive or with the own high half) can be undone
// modulo 2^bits.
class BitPermutation {
 public:
  BitPermutation(unsigned bits, uint64_t seed);
  // `next` gives the random numbers, one after the other.
  template <std::invocable Next>
  BitPermutation(unsigned bits, Next next) : mask_((uint64_t{1} << bits) - 1), shift_((bits + 1) / 2) {
    for (int round = 0; round < kRounds; ++round) {
      multipliers_[round] = next() | 1;
      increments_[round] = next();
    }
  }

  uint64_t operator()(uint64_t value) const {
    for (int round = 0; round < kRounds; ++round) {
      value = (value * multipliers_[round] + increments_[round]) & mask_;
      value ^= value >> shift_;
    }
    return value;
  }

 private:
  static constexpr int kRounds = 4;
  uint64_t multipliers_[kRounds];
  uint64_t increments_[kRounds];
  uint64_t mask_;
  unsigned shift_;
};

// Of [0, size), size at most 2^63: follows a permutation of the next power of two until it is back inside, in fewer
// than two steps on average. `source` is BitPermutation's: a seed, or what gives random numbers.
class RandomPermutation {
 public:
  RandomPermutation(uint64_t size, auto source) : size_(size), permutation_(std::bit_width(size - 1), source) {}

  uint64_t operator()(uint64_t value) const {
    do {
      value = permutation_(value);
    } while (value >= size_);
    return value;
  }

 private:
  uint64_t size_;
  BitPermutation permutation_;
};

}  // namespace apps
