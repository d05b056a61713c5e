// Load, unload and discard of ranges of addresses, at the program's own request; renewal of what is overwritten.
#include <sys/mman.h>

#include <algorithm>

#include "base/system_calls.h"
#include "memory/arena.h"
#include "memory/blocked_signals.h"
#include "memory/mutex_holder.h"
#include "memory/pages.h"
#include "memory/stopped_threads.h"

namespace spillway::memory {
namespace {

constexpr int kStopAttempts = 5;

}  // namespace

// The first region of the allocation that has the range; nullptr when none has it.
Arena::Region* Arena::allocation_around(const void* address, size_t bytes) {
  if (!contains(address)) return nullptr;
  const auto begin = reinterpret_cast<uint64_t>(address);
  for (uint32_t i = 0; i < region_count_; ++i) {
    Region& first = regions_[i];
    if (first.begin == 0 || begin < first.begin || begin - first.begin >= first.allocation_bytes) continue;
    const bool is_the_programs = !is_spare(first) && first.chunk == nullptr;
    return is_the_programs && bytes <= first.allocation_bytes - (begin - first.begin) ? &first : nullptr;
  }
  return nullptr;
}

// Each region's part of the range. Of static data, what the arena has of it: the pages at the ends of a variable are
// not its own.
template <typename Operation>
RangeResult Arena::for_each_part(const void* address, size_t bytes, Operation operation) {
  const auto begin = reinterpret_cast<uint64_t>(address);
  if (bytes == 0 || bytes > ~begin) return RangeResult::not_managed;
  const uint64_t end = begin + bytes;
  RangeResult result = RangeResult::not_managed;
  const auto visit = [&](Region& region) {
    const uint64_t part_begin = std::max(begin, region.begin), part_end = std::min(end, region.end());
    if (part_begin >= part_end) return;
    const RangeResult of_part = operation(region, reinterpret_cast<void*>(part_begin), part_end - part_begin);
    if (result == RangeResult::not_managed || of_part != RangeResult::done) result = of_part;
  };
  if (Region* first = allocation_around(address, bytes); first != nullptr) {
    for_each_region(*first, visit);
    return result;
  }
  if (begin >= static_end_ || end <= static_begin_) return result;
  for (uint32_t i = 0; i < region_count_; ++i)
    if (regions_[i].is_static) visit(regions_[i]);
  return result;
}

RangeResult Arena::load_range(const void* address, size_t bytes) {
  MutexHolder hold(mutex_);
  return for_each_part(address, bytes, [](const Region& region, const void* part, size_t part_bytes) {
    if (!region.is_file_backed) return RangeResult::done;
    const Pages pages = pages_around(part, part_bytes);
    if (madvise(pages.address(), pages.bytes, base::kernel::kPopulateRead) != 0)
      madvise(pages.address(), pages.bytes, MADV_WILLNEED);
    return RangeResult::done;
  });
}

// The region as a whole. To what is beside the range other threads may write: false when they cannot be stopped for
// some tenths of a second.
bool Arena::write_out_around(Region& region, const Pages& pages, UnloadResult& result) {
  if (pages.bytes == region.bytes) {
    write_out(region, Occasion::by_program, result);
    return true;
  }
  announce(region.begin, region.bytes);
  for (int attempt = 0; attempt < kStopAttempts; ++attempt) {
    const StoppedThreads stopped(threads_);
    if (!stopped) continue;
    write_out(region, Occasion::by_program, result);
    return true;
  }
  return false;
}

RangeResult Arena::unload_range(const void* address, size_t bytes, UnloadResult& result) {
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  return for_each_part(address, bytes, [&](Region& region, const void* part, size_t part_bytes) {
    if (!file_.is_open()) return RangeResult::no_storage;
    if (is_used_by_others(region) || is_own_stack(region)) return RangeResult::pinned;
    const Pages pages = pages_around(part, part_bytes);
    if (!region.is_file_backed || region.pieces != 0)
      return write_out_around(region, pages, result) ? RangeResult::done : RangeResult::pinned;
    Region in_range = part_of(region, pages);
    const UnloadResult before = result;
    write_dirty_pages(in_range, Occasion::by_program, result);
    count(region, before, result);
    give_up_pages(in_range);
    return RangeResult::done;
  });
}

// All of it or nothing.
RangeResult Arena::discard_range(void* address, size_t bytes) {
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  const RangeResult possible = for_each_part(address, bytes, [this](const Region& region, const void*, size_t) {
    return is_used_by_others(region) ? RangeResult::pinned : RangeResult::done;
  });
  if (possible != RangeResult::done) return possible;
  return for_each_part(address, bytes, [this](const Region& region, const void* part, size_t part_bytes) {
    discard_pages(region, pages_within(part, part_bytes));
    return RangeResult::done;
  });
}

void Arena::discard_pages(const Region& region, const Pages& pages) {
  if (pages.bytes == 0) return;
  if (region.is_file_backed) check_what_was_loaded(part_of(region, pages));
  madvise(pages.address(), pages.bytes, MADV_DONTNEED);
  if (!region.is_file_backed) return;
  file_.forget(region.offset_of(pages.begin), pages.bytes);
  checksums_.forget(region.offset_of(pages.begin), pages.bytes);
}

RangeResult Arena::advise_range(const void* address, size_t bytes, Advice advice) {
  MutexHolder hold(mutex_);
  return for_each_part(address, bytes, [advice](Region& region, const void*, size_t) {
    region.advice = advice;
    if (!region.is_file_backed) return RangeResult::done;  // when it is mapped
    madvise(reinterpret_cast<void*>(region.begin), region.bytes, MADV_NORMAL);
    advise_kernel(region);
    return RangeResult::done;
  });
}

size_t Arena::report(AllocationReport* reports, size_t capacity) {
  MutexHolder hold(mutex_);
  size_t found = 0;
  for (uint32_t i = 0; i < region_count_; ++i) {
    Region& first = regions_[i];
    const bool is_variable = first.is_static && first.begin == first.variable;
    if (first.begin == 0 || (!is_variable && (first.allocation_bytes == 0 || is_spare(first)))) continue;
    AllocationReport sum{.begin = first.begin};
    const auto add = [&sum](const Region& region) {
      sum.bytes += region.bytes;
      sum.resident_bytes += region.bytes - PageMap::absent_bytes(region.begin, region.bytes);
      sum.loaded_bytes += region.loaded_bytes;
      sum.written_bytes += region.written_bytes;
    };
    if (!is_variable) for_each_region(first, add);
    for (uint32_t piece = 0; is_variable && piece < region_count_; ++piece)
      if (regions_[piece].is_static && regions_[piece].variable == first.variable) add(regions_[piece]);
    if (found++ < capacity) reports[found - 1] = sum;
  }
  return found;
}

// No other thread uses memory that an operation of this one overwrites. Not again for a message in parts.
void Arena::renew(void* address, uint64_t bytes) {
  if (bytes < Overwrites::kLeastBytes || !file_.is_open()) return;
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  for_each_part(address, bytes, [this](Region& region, const void* part, size_t part_bytes) {
    const Pages pages = pages_within(part, part_bytes);
    const bool was_renewed = pages.begin >= region.last_renewed.begin && pages.end() <= region.last_renewed.end();
    if (!region.is_file_backed || pages.bytes < Overwrites::kLeastBytes || was_renewed || pieces_ == kMaximumPieces ||
        is_used_by_others(region) || PageMap::absent_bytes(pages.begin, pages.bytes) < pages.bytes / 2)
      return RangeResult::done;
    if (!map_fresh(pages.begin, pages.bytes)) {
      map_file(part_of(region, pages));
      return RangeResult::done;
    }
    note_piece(region);
    region.renewed_bytes += pages.bytes;
    region.last_renewed = pages;
    history_.note_renewed(region.file_offset, region.offset_of(pages.begin), region.offset_of(pages.end()));
    return RangeResult::done;
  });
}

}  // namespace spillway::memory
