// Large static variables as regions of the arena.
#include <algorithm>

#include "memory/arena.h"
#include "memory/mutex_holder.h"
#include "memory/page_map.h"
#include "memory/pages.h"

namespace spillway::memory {
namespace {

// Small beside the memory of a rank, and long enough for the full rate of a disk.
constexpr uint64_t kLeastPieceBytes = 4 << 20;
// Of one variable: malloc needs entries too.
constexpr uint64_t kMostPieces = 4096;

uint64_t piece_bytes(uint64_t bytes) {
  return std::max<uint64_t>(1, (bytes / kMostPieces + kLeastPieceBytes - 1) / kLeastPieceBytes) * kLeastPieceBytes;
}

}  // namespace

bool Arena::is_adopted(uint64_t begin, uint64_t end) const {
  if (begin >= static_end_ || end <= static_begin_) return false;
  for (uint32_t i = 0; i < region_count_; ++i)
    if (regions_[i].is_static && begin < regions_[i].end() && regions_[i].begin < end) return true;
  return false;
}

StaticCharge Arena::adopt(const void* address, size_t bytes, Beginning beginning) {
  StaticCharge charge;
  const Pages whole = pages_within(address, bytes);
  MutexHolder hold(mutex_);
  if (whole.bytes == 0 || !reserve_addresses() || is_adopted(whole.begin, whole.end())) return charge;
  // As far from a multiple of 2 MiB as the variable: for huge pages, and no two pieces share a granule.
  const uint64_t ahead = whole.begin % kHugePageBytes;
  const uint64_t granules = (ahead + whole.bytes + kGranuleBytes - 1) / kGranuleBytes;
  const uint64_t taken = addresses_.take(granules * kGranuleBytes, kHugePageBytes);
  if (taken == 0) return charge;
  const uint64_t place = taken + ahead;
  const uint64_t piece = piece_bytes(whole.bytes);
  for (uint64_t begin = whole.begin; begin < whole.end();) {
    const uint32_t entry = take_region_entry();
    if (entry == kMaximumRegions) {  // the rest stays in memory, as it was
      tell_of(Want::regions);
      break;
    }
    const uint64_t end = std::min(whole.end(), (begin / piece + 1) * piece);
    Region& region = regions_[entry];
    region = Region{.begin = begin,
                    .bytes = end - begin,
                    .file_offset = place - begin_ + (begin - whole.begin),
                    .variable = whole.begin,
                    .is_static = true,
                    .beginning = beginning};
    history_.forget(region.file_offset, region.bytes);
    charge.managed_bytes += region.bytes;
    if (holds_something(region))
      charge.resident_bytes += region.bytes;
    else
      region.unloaded_in_epoch = epoch_;
    begin = end;
  }
  managed_bytes_ += charge.managed_bytes;
  ++changes_;
  static_begin_ = std::min(static_begin_, whole.begin);
  static_end_ = std::max(static_end_, whole.end());
  return charge;
}

uint64_t Arena::uncount_untouched(uint64_t wanted_bytes) {
  MemoryAccount charged_to;
  uint64_t resident = 0, managed = 0;
  {
    MutexHolder hold(mutex_);
    charged_to = account_;
    for (uint32_t i = region_count_; i > 0 && managed < wanted_bytes; --i) {
      Region& region = regions_[i - 1];
      if (!region.is_static || !region.is_counted || is_used_by_others(region) || holds_something(region)) continue;
      if (is_charged(region)) resident += region.bytes;
      managed += region.bytes;
      region.is_counted = false;
    }
    managed_bytes_ -= managed;
    uncounted_bytes_ += managed;
    changes_ += managed != 0 ? 1 : 0;
  }
  if (managed != 0 && charged_to.give_back != nullptr) charged_to.give_back(resident, managed);
  return managed;
}

uint64_t Arena::count_touched() {
  MutexHolder hold(mutex_);
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < region_count_ && uncounted_bytes_ != 0; ++i) {
    Region& region = regions_[i];
    if (!region.is_static || region.is_counted || !holds_something(region)) continue;
    region.is_counted = true;
    region.unloaded_in_epoch = 0;
    bytes += region.bytes;
    uncounted_bytes_ -= region.bytes;
  }
  managed_bytes_ += bytes;
  changes_ += bytes != 0 ? 1 : 0;
  return bytes;
}

uint64_t Arena::resident_static_bytes(uint64_t begin, uint64_t end) {
  MutexHolder hold(mutex_);
  uint64_t sum = 0;
  if (begin >= static_end_ || end <= static_begin_) return sum;
  for (uint32_t i = 0; i < region_count_; ++i) {
    const Region& region = regions_[i];
    const uint64_t part_begin = std::max(begin, region.begin), part_end = std::min(end, region.end());
    if (region.is_static && part_begin < part_end)
      sum += part_end - part_begin - PageMap::absent_bytes(part_begin, part_end - part_begin);
  }
  return sum;
}

}  // namespace spillway::memory
