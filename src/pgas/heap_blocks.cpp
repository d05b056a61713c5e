#include "pgas/heap_blocks.h"

#include <algorithm>
#include <iterator>

namespace spillway::pgas {
namespace {

uint64_t rounded_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

}  // namespace

HeapBlocks::HeapBlocks(uint64_t begin, uint64_t end) {
  if (begin < end) free_.emplace(begin, end);
}

std::optional<uint64_t> HeapBlocks::take(uint64_t bytes, uint64_t alignment) {
  alignment = std::max(alignment, kLeastAlignment);
  for (auto part = free_.begin(); part != free_.end(); ++part) {
    const auto [begin, end] = *part;
    const uint64_t offset = rounded_up(begin, alignment);
    if (offset < begin || offset > end || bytes > end - offset) continue;
    const uint64_t taken_end = std::min(rounded_up(offset + bytes, kLeastAlignment), end);
    free_.erase(part);
    if (begin < offset) free_.emplace(begin, offset);
    if (taken_end < end) free_.emplace(taken_end, end);
    taken_.emplace(offset, taken_end);
    return offset;
  }
  return std::nullopt;
}

bool HeapBlocks::give_back(uint64_t offset) {
  const auto taken = taken_.find(offset);
  if (taken == taken_.end()) return false;
  auto [begin, end] = *taken;
  taken_.erase(taken);
  auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == end) {
    end = next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->second == begin) {
    std::prev(next)->second = end;
  } else {
    free_.emplace(begin, end);
  }
  return true;
}

}  // namespace spillway::pgas
