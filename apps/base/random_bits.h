// Pseudorandom numbers that depend on a seed only. Bits and fractions are the same everywhere; normally distributed
// numbers are as exact as the C library's logarithm and cosine, whose last bits differ between libraries and
// processors.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace apps {

inline constexpr uint64_t kMixStep = 0x9e3779b97f4a7c15;

// The mixing function of SplitMix64: a bijection of 64 bits that looks random, but for 0.
inline uint64_t mix_bits(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// SplitMix64: a counter, in steps of kMixStep, mixed.
class RandomBits {
 public:
  explicit RandomBits(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    state_ += kMixStep;
    return mix_bits(state_);
  }

  // In [0, 1).
  double next_fraction() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Of mean 0 and variance 1, by Box and Muller.
  double next_normal() {
    const double radius = std::sqrt(-2 * std::log(1 - next_fraction()));
    return radius * std::cos(2 * std::numbers::pi * next_fraction());
  }

 private:
  uint64_t state_;
};

// One of many independent sequences, so that work can be divided: sequence `number` of a seed.
inline RandomBits random_stream(uint64_t seed, uint64_t number) {
  return RandomBits(RandomBits(seed).next() ^ RandomBits(number).next());
}

// A seed for each of the things that one seed decides.
inline uint64_t derived_seed(uint64_t seed, uint64_t number) { return random_stream(seed, number).next(); }

}  // namespace apps
