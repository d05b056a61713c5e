// Hands out ranges of one large reserved range of addresses. Knows addresses only: what is mapped there is the arena's
// matter.
//
// First fit, lowest address first: since a range's place in the spill file equals its place in the address space, low
// addresses keep the file short. Allocates nothing; not thread-safe.
#pragma once

#include <cstdint>

namespace spillway::memory {

class AddressSpace {
 public:
  struct Range {
    uint64_t begin;
    uint64_t end;
  };

  // `table` has room for `capacity` free ranges: one more than there can be allocated ranges.
  void initialise(Range* table, uint32_t capacity, uint64_t begin, uint64_t end);

  // Returns 0 when no free range is large enough. REQUIRES: alignment is a power of two.
  uint64_t take(uint64_t bytes, uint64_t alignment);
  void give_back(uint64_t begin, uint64_t bytes);

  uint32_t free_range_count() const { return count_; }

 private:
  void remove(uint32_t index);
  void insert(uint32_t index, Range range);

  Range* free_ = nullptr;  // sorted by address, no two adjacent
  uint32_t count_ = 0;
  uint32_t capacity_ = 0;
};

}  // namespace spillway::memory
