// Seeds of the random tests: a new one each time, printed, and the one to replay from the environment.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace spillway {

// SPILLWAY_TEST_SEED=n repeats a run. Of tests with several processes it repeats the decisions, not the timing.
inline uint64_t test_seed() {
  const char* given = getenv("SPILLWAY_TEST_SEED");
  const uint64_t seed = given != nullptr ? strtoull(given, nullptr, 10) : std::random_device{}();
  printf("SPILLWAY_TEST_SEED=%llu repeats this run\n", static_cast<unsigned long long>(seed));
  fflush(stdout);
  return seed;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // In [0, bound).
  uint64_t below(uint64_t bound) { return std::uniform_int_distribution<uint64_t>(0, bound - 1)(engine_); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace spillway
