// Random numbers that are the same everywhere: splitmix64. All ranks that draw from equal generators get equal numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

inline uint64_t mixed(uint64_t value) {
  value += 0x9e3779b97f4a7c15u;
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
  value = (value ^ value >> 27) * 0x94d049bb133111ebu;
  return value ^ value >> 31;
}

class Random {
 public:
  // Every list of keys has a sequence of its own.
  explicit Random(std::initializer_list<uint64_t> keys) {
    for (uint64_t key : keys) state_ = mixed(state_ ^ key);
  }

  uint64_t next() { return mixed(state_++); }

  // From 0 to bound - 1.
  int below(int bound) { return static_cast<int>(next() % static_cast<uint64_t>(bound)); }

  int between(int low, int high) { return low + below(high - low + 1); }

  bool chance(int percent) { return below(100) < percent; }

  template <typename T>
  const T& among(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int>(choices.size())))];
  }

  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[next() % i]);
  }

 private:
  uint64_t state_ = 0;
};
