#include "memory/address_space.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace spillway::memory {

void AddressSpace::initialise(Range* table, uint32_t capacity, uint64_t begin, uint64_t end) {
  free_ = table;
  capacity_ = capacity;
  free_[0] = Range{begin, end};
  count_ = 1;
}

void AddressSpace::remove(uint32_t index) {
  memmove(free_ + index, free_ + index + 1, (count_ - index - 1) * sizeof(Range));
  --count_;
}

void AddressSpace::insert(uint32_t index, Range range) {
  SPILLWAY_CHECK(count_ < capacity_);
  memmove(free_ + index + 1, free_ + index, (count_ - index) * sizeof(Range));
  free_[index] = range;
  ++count_;
}

uint64_t AddressSpace::take(uint64_t bytes, uint64_t alignment) {
  for (uint32_t i = 0; i < count_; ++i) {
    const Range range = free_[i];
    const uint64_t begin = (range.begin + alignment - 1) & ~(alignment - 1);
    if (begin + bytes > range.end || begin + bytes < begin) continue;
    const bool head_left = begin > range.begin;
    const bool tail_left = begin + bytes < range.end;
    if (head_left && tail_left && count_ == capacity_) return 0;
    if (head_left) {
      free_[i].end = begin;
      if (tail_left) insert(i + 1, Range{begin + bytes, range.end});
    } else if (tail_left) {
      free_[i].begin = begin + bytes;
    } else {
      remove(i);
    }
    return begin;
  }
  return 0;
}

void AddressSpace::give_back(uint64_t begin, uint64_t bytes) {
  const uint64_t end = begin + bytes;
  const auto i = static_cast<uint32_t>(
      std::lower_bound(free_, free_ + count_, begin, [](const Range& r, uint64_t a) { return r.begin < a; }) - free_);
  SPILLWAY_CHECK((i == 0 || free_[i - 1].end <= begin) && (i == count_ || end <= free_[i].begin));
  const bool joins_before = i > 0 && free_[i - 1].end == begin;
  const bool joins_after = i < count_ && free_[i].begin == end;
  if (joins_before && joins_after) {
    free_[i - 1].end = free_[i].end;
    remove(i);
  } else if (joins_before) {
    free_[i - 1].end = end;
  } else if (joins_after) {
    free_[i].begin = begin;
  } else {
    insert(i, Range{begin, end});
  }
}

}  // namespace spillway::memory
