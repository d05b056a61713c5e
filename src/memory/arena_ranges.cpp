// Load, unload and discard of ranges of addresses, at the program's own request.
#include <sys/mman.h>

#include <algorithm>

#include "memory/arena.h"
#include "memory/blocked_signals.h"
#include "memory/mutex_holder.h"
#include "memory/pages.h"

namespace spillway::memory {
namespace {

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, of Linux 5.14: older headers lack it

}  // namespace

Arena::Region* Arena::allocation_around(const void* address, size_t bytes) {
  if (!contains(address)) return nullptr;
  const auto first = reinterpret_cast<uint64_t>(address);
  for (uint32_t i = 0; i < region_count_; ++i) {
    Region& region = regions_[i];
    if (region.begin == 0 || first < region.begin || first - region.begin >= region.bytes) continue;
    return is_spare(region) || bytes > region.bytes - (first - region.begin) ? nullptr : &region;
  }
  return nullptr;
}

// Of static data, what the arena has of the range: the pages at the ends of a variable are not its own.
template <typename Operation>
RangeResult Arena::for_each_part(const void* address, size_t bytes, Operation operation) {
  const auto begin = reinterpret_cast<uint64_t>(address);
  if (bytes == 0 || bytes > ~begin) return RangeResult::not_managed;
  if (Region* allocation = allocation_around(address, bytes); allocation != nullptr)
    return operation(*allocation, address, bytes);
  RangeResult result = RangeResult::not_managed;
  const uint64_t end = begin + bytes;
  if (begin >= static_end_ || end <= static_begin_) return result;
  for (uint32_t i = 0; i < region_count_; ++i) {
    Region& region = regions_[i];
    const uint64_t part_begin = std::max(begin, region.begin), part_end = std::min(end, region.end());
    if (region.is_static && part_begin < part_end)
      result = operation(region, reinterpret_cast<void*>(part_begin), part_end - part_begin);
  }
  return result;
}

RangeResult Arena::load_range(const void* address, size_t bytes) {
  MutexHolder hold(mutex_);
  return for_each_part(address, bytes, [](const Region& region, const void* part, size_t part_bytes) {
    if (!region.is_file_backed) return RangeResult::done;
    const Pages pages = pages_around(part, part_bytes);
    if (madvise(pages.address(), pages.bytes, kPopulateRead) != 0) madvise(pages.address(), pages.bytes, MADV_WILLNEED);
    return RangeResult::done;
  });
}

RangeResult Arena::unload_range(const void* address, size_t bytes, UnloadResult& result) {
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  return for_each_part(address, bytes, [&](Region& region, const void* part, size_t part_bytes) {
    if (!file_.is_open()) return RangeResult::no_storage;
    if (is_used_by_others(region)) return RangeResult::pinned;
    if (!region.is_file_backed) {
      write_out(region, result);
      return RangeResult::done;
    }
    const Pages pages = pages_around(part, part_bytes);
    Region in_range = region;
    in_range.begin = pages.begin;
    in_range.bytes = pages.bytes;
    in_range.file_offset = region.offset_of(pages.begin);
    write_out(in_range, result);
    return RangeResult::done;
  });
}

RangeResult Arena::discard_range(void* address, size_t bytes) {
  MutexHolder hold(mutex_);
  return for_each_part(address, bytes, [this](const Region& region, const void* part, size_t part_bytes) {
    if (is_used_by_others(region)) return RangeResult::pinned;
    const Pages pages = pages_within(part, part_bytes);
    if (pages.bytes == 0) return RangeResult::done;
    madvise(pages.address(), pages.bytes, MADV_DONTNEED);
    if (region.is_file_backed) file_.forget(region.offset_of(pages.begin), pages.bytes);
    return RangeResult::done;
  });
}

}  // namespace spillway::memory
