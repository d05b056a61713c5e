// The pages of a range of addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/page_map.h"

namespace spillway::memory {

inline constexpr uint64_t kHugePageBytes = 2 << 20;

struct Pages {
  uint64_t begin;
  uint64_t bytes;

  void* address() const { return reinterpret_cast<void*>(begin); }
  uint64_t end() const { return begin + bytes; }
};

inline uint64_t round_down_to_page(uint64_t address) { return address / kPageBytes * kPageBytes; }
inline uint64_t round_up_to_page(uint64_t address) { return round_down_to_page(address + kPageBytes - 1); }

// All pages that the range touches.
inline Pages pages_around(const void* address, size_t bytes) {
  const uint64_t begin = round_down_to_page(reinterpret_cast<uint64_t>(address));
  return Pages{begin, round_up_to_page(reinterpret_cast<uint64_t>(address) + bytes) - begin};
}

// Those that lie wholly in it.
inline Pages pages_within(const void* address, size_t bytes) {
  const uint64_t begin = round_up_to_page(reinterpret_cast<uint64_t>(address));
  const uint64_t end = round_down_to_page(reinterpret_cast<uint64_t>(address) + bytes);
  return Pages{begin, end > begin ? end - begin : 0};
}

}  // namespace spillway::memory
