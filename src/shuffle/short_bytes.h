// Up to sixteen bytes as two numbers, zeros behind them. Keys of real text are short and of all lengths: a branch for
// each length, which the processor guesses wrong every other time, costs more than all else that is done for a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spillway::shuffle {

struct ShortBytes {
  static constexpr size_t kMost = 16;

  uint64_t words[2];

  bool operator==(const ShortBytes& other) const {
    return ((words[0] ^ other.words[0]) | (words[1] ^ other.words[1])) == 0;
  }
};
static_assert(sizeof(ShortBytes) == ShortBytes::kMost);

// REQUIRES: bytes <= ShortBytes::kMost. Of the page that `from` lies in, it reads sixteen bytes, whatever they are.
__attribute__((no_sanitize("address"))) inline ShortBytes load_short(const char* from, size_t bytes) {
  constexpr size_t kPageBytes = 4096;
  constexpr auto kOnes = ~uint64_t{0};
  alignas(16) static constexpr uint64_t kMasks[4] = {kOnes, kOnes, 0, 0};
  ShortBytes loaded{};
  if (bytes == 0) [[unlikely]]  // perhaps behind the last byte of a page
    return loaded;
  if (reinterpret_cast<uintptr_t>(from) % kPageBytes > kPageBytes - ShortBytes::kMost) [[unlikely]] {
    std::memcpy(&loaded, from, bytes);
    return loaded;
  }
  std::memcpy(&loaded, from, sizeof loaded);
  ShortBytes mask;
  std::memcpy(&mask, reinterpret_cast<const char*>(kMasks) + ShortBytes::kMost - bytes, sizeof mask);
  return {loaded.words[0] & mask.words[0], loaded.words[1] & mask.words[1]};
}

}  // namespace spillway::shuffle
