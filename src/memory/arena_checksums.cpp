// The checksums of the arena's spill file: where they are, and what is compared with them after the kernel has read it.
#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/system_calls.h"
#include "memory/arena.h"
#include "memory/blocked_signals.h"
#include "memory/mutex_holder.h"

namespace spillway::memory {
namespace {

namespace kernel = base::kernel;

constexpr uint64_t kCheckedBytes = 16 << 20;  // mapped at a time
constexpr uint64_t kSliceBytes = 64 << 10;    // of the table, made accessible at a time

}  // namespace

// Of the table for so many bytes of the file.
uint64_t Arena::checksum_bytes(uint64_t bytes) {
  const uint64_t needed = bytes / kPageBytes * sizeof(uint64_t);
  return (needed + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

void Arena::keep_checksums() {
  MutexHolder hold(mutex_);
  keeps_checksums_ = true;
  if (bytes_ != 0) place_checksums();
}

// Behind the arena's own addresses, and like these not accessible before there is something to be kept. In small pages:
// ranks are many, and most have little memory.
void Arena::place_checksums() {
  if (!keeps_checksums_) return;
  auto* table = reinterpret_cast<uint64_t*>(begin_ + bytes_);
  kernel::advise(table, checksum_bytes(bytes_), MADV_NOHUGEPAGE);
  checksums_.initialise(table);
}

// Whoever limits what processes may write to (ulimit -d, vm.overcommit_memory=2) counts no more of the table than this.
void Arena::reserve_checksums(const Region& region) {
  if (!checksums_.are_kept()) return;
  const uint64_t table = begin_ + bytes_;
  const auto entry_of = [table](uint64_t place) { return table + place / kPageBytes * sizeof(uint64_t); };
  const uint64_t begin = entry_of(region.file_offset) / kSliceBytes * kSliceBytes;
  const uint64_t end = (entry_of(region.file_offset + region.bytes) + kSliceBytes - 1) / kSliceBytes * kSliceBytes;
  if (kernel::protect(reinterpret_cast<void*>(begin), end - begin, PROT_READ | PROT_WRITE) != 0)
    base::fatal("cannot have %llu KiB for checksums: %s", static_cast<unsigned long long>((end - begin) >> 10),
                strerrordesc_np(errno));
}

// All that the kernel has read of the file for the rank, also where the rank has changed its copy since: the page cache
// still has it, but for what it had to drop.
void Arena::check_what_was_loaded(const Region& region) {
  if (!checksums_.are_kept()) return;
  unsigned char resident[kCheckedBytes / kPageBytes];
  for (uint64_t done = 0, bytes = 0; done < region.bytes; done += bytes) {
    const uint64_t place = region.file_offset + done;
    const auto part = file_.first_part(place, std::min(kCheckedBytes, region.bytes - done));
    bytes = part.bytes;
    void* contents = kernel::map(nullptr, bytes, PROT_READ, MAP_PRIVATE, part.descriptor, part.offset);
    if (contents == MAP_FAILED) base::fatal("cannot map the spill file: %s", strerrordesc_np(errno));
    kernel::advise(contents, bytes, MADV_HUGEPAGE);  // one fault for 2 MiB, where they were read as such
    const bool is_known = kernel::resident_pages(contents, bytes, resident) == 0;
    for (uint64_t page = 0; is_known && page < bytes; page += kPageBytes)
      if ((resident[page / kPageBytes] & 1) != 0 &&
          checksums_.damaged_page(place + page, static_cast<const char*>(contents) + page, kPageBytes) !=
              storage::PageChecksums::kNowhere)
        file_.fail_for_damage(place + page);
    kernel::unmap(contents, bytes);
  }
}

void Arena::check_what_was_loaded() {
  if (!file_.is_open()) return;
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  for (uint32_t i = 0; i < region_count_; ++i)
    if (regions_[i].begin != 0 && regions_[i].is_file_backed) check_what_was_loaded(regions_[i]);
}

}  // namespace spillway::memory
