// Load, unload and discard of ranges of addresses, at the program's own request.
#include <sys/mman.h>

#include "memory/arena.h"
#include "memory/mutex_holder.h"
#include "memory/page_map.h"

namespace spillway::memory {
namespace {

constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, of Linux 5.14: older headers lack it

uint64_t round_down_to_page(uint64_t address) { return address / kPageBytes * kPageBytes; }
uint64_t round_up_to_page(uint64_t address) { return round_down_to_page(address + kPageBytes - 1); }

struct Pages {
  uint64_t begin;
  uint64_t bytes;
  void* address() const { return reinterpret_cast<void*>(begin); }
};

// All pages that the range touches.
Pages pages_around(const void* address, size_t bytes) {
  const uint64_t begin = round_down_to_page(reinterpret_cast<uint64_t>(address));
  return Pages{begin, round_up_to_page(reinterpret_cast<uint64_t>(address) + bytes) - begin};
}

// Those that lie wholly in it.
Pages pages_within(const void* address, size_t bytes) {
  const uint64_t begin = round_up_to_page(reinterpret_cast<uint64_t>(address));
  const uint64_t end = round_down_to_page(reinterpret_cast<uint64_t>(address) + bytes);
  return Pages{begin, end > begin ? end - begin : 0};
}

}  // namespace

Arena::Region* Arena::region_around(const void* address, size_t bytes) {
  if (bytes == 0 || !contains(address)) return nullptr;
  const auto first = reinterpret_cast<uint64_t>(address);
  for (uint32_t i = 0; i < region_count_; ++i) {
    Region& region = regions_[i];
    if (region.begin == 0 || first < region.begin || first - region.begin >= region.bytes) continue;
    const bool is_spare = region_of_granule_[(region.begin - begin_) / kGranuleBytes] == 0;
    return is_spare || bytes > region.bytes - (first - region.begin) ? nullptr : &region;
  }
  return nullptr;
}

RangeResult Arena::load_range(const void* address, size_t bytes) {
  MutexHolder hold(mutex_);
  const Region* region = region_around(address, bytes);
  if (region == nullptr) return RangeResult::not_managed;
  if (!region->is_file_backed) return RangeResult::done;
  const Pages pages = pages_around(address, bytes);
  if (madvise(pages.address(), pages.bytes, kPopulateRead) != 0) madvise(pages.address(), pages.bytes, MADV_WILLNEED);
  return RangeResult::done;
}

RangeResult Arena::unload_range(const void* address, size_t bytes, UnloadResult& result) {
  MutexHolder hold(mutex_);
  Region* region = region_around(address, bytes);
  if (region == nullptr) return RangeResult::not_managed;
  if (!file_.is_open()) return RangeResult::no_storage;
  if (!region->is_file_backed) {
    write_out(*region, result);
    return RangeResult::done;
  }
  const Pages pages = pages_around(address, bytes);
  Region part = *region;
  part.begin = pages.begin;
  part.bytes = pages.bytes;
  write_out(part, result);
  return RangeResult::done;
}

RangeResult Arena::discard_range(void* address, size_t bytes) {
  MutexHolder hold(mutex_);
  const Region* region = region_around(address, bytes);
  if (region == nullptr) return RangeResult::not_managed;
  const Pages pages = pages_within(address, bytes);
  if (pages.bytes == 0) return RangeResult::done;
  madvise(pages.address(), pages.bytes, MADV_DONTNEED);
  if (region->is_file_backed) file_.forget(pages.begin - begin_, pages.bytes);
  return RangeResult::done;
}

}  // namespace spillway::memory
