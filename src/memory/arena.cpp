#include "memory/arena.h"

#include <errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/system_calls.h"
#include "memory/blocked_signals.h"
#include "memory/mutex_holder.h"
#include "memory/page_map.h"

namespace spillway::memory {
namespace {

namespace kernel = base::kernel;

constexpr uint64_t kStackBytes = 64 << 10;  // more than unloading takes of the stack
constexpr uint64_t kSmallestArenaBytes = 1ull << 36;

// Dirty pages closer than this are written in one piece with what lies between: below it a device does worse with two
// requests than with the longer one.
constexpr uint64_t kGapBytes = 64 << 10;
constexpr uint64_t kBounceBytes = 1 << 20;

// What other threads are stopped for at a time: some hundredths of a second on a fast device.
constexpr uint64_t kBatchBytes = 64 << 20;
constexpr uint32_t kBatchRegions = 64;

// Enough for the work arrays of an iteration; beyond it, clearing pages is small beside the work on what they hold.
constexpr uint64_t kMaximumSpareBytes = 128 << 20;

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

void* map_private(uint64_t bytes, int protection) {
  void* address = kernel::map(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

}  // namespace

bool Arena::reserve_addresses() {
  if (bytes_ != 0 || reservation_failed_) return bytes_ != 0;
  void* range = nullptr;
  uint64_t bytes = address_bytes_;
  for (; bytes >= kSmallestArenaBytes && range == nullptr; bytes /= 2) range = map_private(bytes, PROT_NONE);
  if (range == nullptr) {
    reservation_failed_ = true;  // an address space limit (ulimit -v): the C library serves all
    return false;
  }
  bytes *= 2;
  const uint64_t granules = bytes / kGranuleBytes;
  regions_ = static_cast<Region*>(map_private(kMaximumRegions * sizeof(Region), PROT_READ | PROT_WRITE));
  region_of_granule_ = static_cast<uint32_t*>(map_private(granules * sizeof(uint32_t), PROT_READ | PROT_WRITE));
  written_ = static_cast<uint64_t*>(map_private(granules / 8, PROT_READ | PROT_WRITE));
  auto* table = static_cast<AddressSpace::Range*>(
      map_private((kMaximumRegions + 2) * sizeof(AddressSpace::Range), PROT_READ | PROT_WRITE));
  const uint64_t units = bytes / UseHistory::kUnitBytes;
  auto* history = static_cast<uint16_t*>(map_private(units * sizeof(uint16_t), PROT_READ | PROT_WRITE));
  auto* samples = static_cast<uint8_t*>(map_private(units, PROT_READ | PROT_WRITE));
  if (!regions_ || !region_of_granule_ || !written_ || !table || !history || !samples)
    base::fatal("cannot map the tables of the storage-backed memory");
  history_.initialise(history, samples);
  const auto first = reinterpret_cast<uint64_t>(range);
  begin_ = round_up(first + 1, kHugePageBytes);  // with a gap: no mapping is in the arena with a part of it only
  const uint64_t end = first + bytes - checksum_bytes(bytes);
  addresses_.initialise(table, kMaximumRegions + 2, begin_, end);
  // Last: other threads ask contains() of every address that they free, and must not see one bound without the other.
  bytes_.store(end - begin_, std::memory_order_release);
  place_checksums();
  return true;
}

Arena::Region& Arena::allocation_at(const void* address) {
  const auto a = reinterpret_cast<uint64_t>(address);
  const uint32_t entry = region_of_granule_[(a - begin_) / kGranuleBytes];
  if (entry == 0 || regions_[entry - 1].begin != a || regions_[entry - 1].allocation_bytes == 0)
    base::fatal("the program freed or resized the address %p, which is not the beginning of an allocation", address);
  return regions_[entry - 1];
}

uint32_t Arena::take_region_entry() {
  if (free_region_ != 0) {
    const uint32_t entry = free_region_ - 1;
    free_region_ = regions_[entry].next;
    --free_region_count_;
    return entry;
  }
  return region_count_ < kMaximumRegions ? region_count_++ : kMaximumRegions;
}

bool Arena::map_fresh(uint64_t begin, uint64_t bytes) {
  void* address = reinterpret_cast<void*>(begin);
  if (mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    return false;
  if (bytes >= kHugePageBytes) madvise(address, bytes, MADV_HUGEPAGE);
  return true;
}

uint64_t Arena::region_bytes_of(uint64_t bytes) {
  return std::max(kRegionBytes, round_up(bytes / kMostRegions, kRegionBytes));
}

bool Arena::has_entries_for(uint64_t bytes) {
  if (!reserve_addresses()) return false;
  if ((bytes - 1) / region_bytes_of(bytes) < free_entries()) return true;
  tell_of(Want::regions);
  return false;
}

void* Arena::place(uint64_t bytes, uint64_t alignment, Chunk* chunk) {
  if (!has_entries_for(bytes)) return nullptr;
  const uint64_t region_bytes = region_bytes_of(bytes);
  const uint64_t count = (bytes + region_bytes - 1) / region_bytes;
  const uint64_t begin =
      addresses_.take(bytes, std::max<uint64_t>(alignment, bytes >= kHugePageBytes ? kHugePageBytes : kGranuleBytes));
  if (begin == 0) return nullptr;
  if (!map_fresh(begin, bytes)) {
    addresses_.give_back(begin, bytes);
    tell_of(Want::mappings);
    return nullptr;
  }
  // From the end: entries are unloaded in order, and programs begin at the beginning.
  uint32_t next = 0;
  for (uint64_t i = count; i > 0; --i) {
    const uint64_t at = (i - 1) * region_bytes;
    const uint32_t entry = take_region_entry();
    regions_[entry] = Region{.begin = begin + at,
                             .bytes = std::min(region_bytes, bytes - at),
                             .file_offset = begin + at - begin_,
                             .chunk = chunk,
                             .next = next};
    next = entry + 1;
  }
  Region& first = regions_[next - 1];
  first.allocation_bytes = bytes;
  set_live(first, true);
  history_.forget(begin - begin_, bytes);
  managed_bytes_ += bytes;
  ++changes_;
  return reinterpret_cast<void*>(begin);
}

// Whether the program has it: else it is spare.
void Arena::set_live(Region& first, bool is_live) {
  for_each_region(first, [&](const Region& region) {
    const auto entry = static_cast<uint32_t>(&region - regions_);
    uint32_t* const entries = region_of_granule_ + (region.begin - begin_) / kGranuleBytes;
    std::fill_n(entries, region.chunk != nullptr ? region.bytes / kGranuleBytes : 1, is_live ? entry + 1 : 0);
  });
}

MemoryAccount Arena::account() {
  MutexHolder hold(mutex_);
  return account_;
}

// Keeps what was freed last: the oldest spare allocations make place for it.
bool Arena::keep_spare(Region& first, uint64_t limit) {
  bool is_in_memory = true;
  for_each_region(first, [&](const Region& region) { is_in_memory &= !region.is_file_backed && is_charged(region); });
  if (!is_in_memory || first.allocation_bytes > limit) return false;
  spare_[spare_count_++] = static_cast<uint32_t>(&first - regions_);
  spare_bytes_ += first.allocation_bytes;
  return true;
}

Arena::Region& Arena::remove_spare(uint32_t index) {
  Region& first = regions_[spare_[index]];
  std::copy(spare_ + index + 1, spare_ + spare_count_, spare_ + index);
  --spare_count_;
  spare_bytes_ -= first.allocation_bytes;
  return first;
}

// The smallest one that fits without wasting more than an eighth.
Arena::Region* Arena::take_spare(uint64_t bytes, uint64_t alignment, Chunk* chunk) {
  uint32_t best = spare_count_;
  const auto bytes_of = [this](uint32_t index) { return regions_[spare_[index]].allocation_bytes; };
  for (uint32_t i = 0; i < spare_count_; ++i) {
    const bool fits = bytes_of(i) >= bytes && bytes_of(i) - bytes <= bytes / 8;
    if (fits && regions_[spare_[i]].begin % alignment == 0 && (best == spare_count_ || bytes_of(i) < bytes_of(best)))
      best = i;
  }
  if (best == spare_count_) return nullptr;
  Region& first = remove_spare(best);
  for_each_region(first, [chunk](Region& region) {  // what was said and seen of them was another allocation's
    region.advice = Advice::normal;
    region.loaded_bytes = region.written_bytes = 0;
    region.chunk = chunk;
  });
  set_live(first, true);
  ++changes_;
  return &first;
}

uint64_t Arena::release_spare() {
  const uint64_t bytes = spare_bytes_;
  while (spare_count_ > 0) release(remove_spare(0));
  return bytes;
}

uint64_t Arena::drop_spare() {
  MemoryAccount charged_to;
  uint64_t bytes = 0;
  {
    MutexHolder hold(mutex_);
    charged_to = account_;
    bytes = release_spare();
  }
  if (bytes != 0 && charged_to.give_back != nullptr) charged_to.give_back(bytes, bytes);
  return bytes;
}

void* Arena::allocate(size_t bytes, size_t alignment, Contents contents, Chunk* chunk) {
  const uint64_t mapped = round_up(bytes, kGranuleBytes);
  if (mapped < bytes || mapped > address_bytes_) return nullptr;  // more than there is, whatever the budget
  {
    MutexHolder hold(mutex_);
    if (const Region* spare = take_spare(mapped, alignment, chunk); spare != nullptr) {
      void* address = reinterpret_cast<void*>(spare->begin);
      if (contents == Contents::zero) memset(address, 0, bytes);
      return address;
    }
    if (!has_entries_for(mapped)) return nullptr;  // nobody needs to make room for what cannot be
  }
  for (;;) {
    const MemoryAccount charged = account();
    if (charged.make_room != nullptr) charged.make_room(mapped);  // may sleep: not under the mutex
    void* address = nullptr;
    {
      MutexHolder hold(mutex_);
      if (charged.make_room == nullptr && account_.make_room != nullptr) continue;  // attached in between
      address = place(mapped, alignment, chunk);
    }
    if (address == nullptr && charged.give_back != nullptr) charged.give_back(mapped, mapped);
    return address;
  }
}

void Arena::release(Region& first) {
  const BlockedSignals no_handlers;
  for_each_region(first, [this](const Region& region) {
    if (region.is_file_backed) check_what_was_loaded(region);  // the rank may have copied it
  });
  void* address = reinterpret_cast<void*>(first.begin);
  const uint64_t bytes = first.allocation_bytes;
  // Fails only for want of mappings; then the pages at least are given back.
  if (mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    madvise(address, bytes, MADV_DONTNEED);
  addresses_.give_back(first.begin, bytes);
  managed_bytes_ -= bytes;
  for_each_region(first, [this](Region& region) {
    if (region.is_file_backed) file_.drop_cache(region.file_offset, region.bytes);
    forget_pieces(region);
    region.begin = 0;
    region.next = free_region_;
    free_region_ = static_cast<uint32_t>(&region - regions_) + 1;
    ++free_region_count_;
  });
}

void Arena::free(void* address) {
  MemoryAccount charged_to = account();
  const uint64_t limit = charged_to.spare_limit != nullptr ? charged_to.spare_limit() : 0;  // not under the mutex
  uint64_t resident = 0, managed = 0;
  const auto let_go = [&](Region& first) {
    for_each_region(first, [&](const Region& region) { resident += is_charged(region) ? region.bytes : 0; });
    managed += first.allocation_bytes;
    release(first);
  };
  {
    MutexHolder hold(mutex_);
    charged_to = account_;
    Region& first = allocation_at(address);
    set_live(first, false);
    ++changes_;
    if (spare_count_ == kMaximumSpare) let_go(remove_spare(0));
    if (!keep_spare(first, std::min(limit, kMaximumSpareBytes))) let_go(first);
    while (spare_bytes_ > std::min(limit, kMaximumSpareBytes)) let_go(remove_spare(0));
  }
  if (managed != 0 && charged_to.give_back != nullptr) charged_to.give_back(resident, managed);
}

size_t Arena::usable_bytes(const void* address) {
  MutexHolder hold(mutex_);
  return allocation_at(address).allocation_bytes;
}

bool Arena::resize_in_place(void* address, size_t bytes) {
  MutexHolder hold(mutex_);
  const uint64_t mapped = allocation_at(address).allocation_bytes;
  return bytes <= mapped && round_up(bytes, kGranuleBytes) * 2 > mapped;
}

uint64_t Arena::attach(const MemoryAccount& account, const base::SpillDirectories& directories) {
  MutexHolder hold(mutex_);
  account_ = account;
  reserve_addresses();
  if (bytes_ != 0) file_.create(directories);
  return managed_bytes_;
}

void Arena::mark_written(uint64_t offset, uint64_t bytes) {
  for (uint64_t g = offset / kGranuleBytes; g <= (offset + bytes - 1) / kGranuleBytes; ++g)
    written_[g / 64] |= 1ull << (g % 64);
}

bool Arena::was_written(uint64_t offset, uint64_t bytes) const {
  for (uint64_t g = offset / kGranuleBytes; g <= (offset + bytes - 1) / kGranuleBytes; ++g)
    if (written_[g / 64] & (1ull << (g % 64))) return true;
  return false;
}

// A span with gaps is copied first: its clean pages are pages of the file, and a direct write cannot take its data from
// the very pages that it replaces.
void Arena::write_span(const void* data, uint64_t bytes, uint64_t offset, bool has_gaps, UnloadResult& result) {
  result.written_bytes += bytes;
  if (!has_gaps) {
    file_.start_write(data, bytes, offset);
    return;
  }
  static char* bounce = static_cast<char*>(map_private(kBounceBytes, PROT_READ | PROT_WRITE));
  if (bounce == nullptr) base::fatal("cannot map a buffer of 1 MiB for unloading");
  for (uint64_t done = 0; done < bytes; done += kBounceBytes) {
    const uint64_t part = std::min(kBounceBytes, bytes - done);
    memcpy(bounce, static_cast<const char*>(data) + done, part);
    file_.write(bounce, part, offset + done);
  }
  kernel::advise(bounce, kBounceBytes, MADV_DONTNEED);
}

// Takes the next part of a run of pages whose contents are needed; false when there is none.
bool Arena::next_needed(PageRun& rest, PageRun& part, Occasion occasion) const {
  const Overwrites* overwrites = occasion == Occasion::by_program ? nullptr : overwrites_;
  while (rest.bytes != 0) {
    const uint64_t rest_end = rest.begin + rest.bytes;
    bool is_whole = false;
    const uint64_t end = overwrites == nullptr ? rest_end : overwrites->end_of_part(rest.begin, rest_end, is_whole);
    part = PageRun{rest.begin, end - rest.begin, rest.state};
    rest = PageRun{end, rest_end - end, rest.state};
    if (!is_whole) return true;
  }
  return false;
}

// Of a run of dirty pages, those that differ from what the file has: so many at a time that one part is written while
// the checksums of the next one are computed.
template <typename Visit>
void Arena::for_each_changed_part(const Region& region, const PageRun& run, Visit visit) {
  const uint64_t end = run.begin + run.bytes;
  uint64_t changed = run.begin;  // where the part begins
  for (uint64_t page = run.begin; checksums_.are_kept() && page < end; page += kPageBytes) {
    const bool is_changed = checksums_.replace(region.offset_of(page), reinterpret_cast<const void*>(page));
    const uint64_t next = page + kPageBytes, changed_end = is_changed ? next : page;
    if (is_changed && next - changed < file_.bytes_at_once()) continue;
    if (changed != changed_end) visit(PageRun{changed, changed_end - changed, run.state});
    changed = next;
  }
  if (changed != end) visit(PageRun{changed, end - changed, run.state});
}

void Arena::write_dirty_pages(Region& region, Occasion occasion, UnloadResult& result) {
  uint64_t span_begin = 0, span_end = 0;  // dirty pages collected so far, with small clean gaps
  bool has_gaps = false;
  const auto write_collected = [&] {
    if (span_end != 0)
      write_span(reinterpret_cast<void*>(span_begin), span_end - span_begin, region.offset_of(span_begin), has_gaps,
                 result);
  };
  UseRecorder use(history_, region.predictor, region.file_offset, Pages{region.begin, region.bytes});
  uint64_t present_bytes = 0;
  const auto collect = [&](const PageRun& run) {
    if (span_end != 0 && run.begin - span_end <= (region.is_file_backed ? kGapBytes : 0)) {
      has_gaps |= run.begin != span_end;
    } else {
      write_collected();
      span_begin = run.begin;
      has_gaps = false;
    }
    span_end = run.begin + run.bytes;
    if (span_end - span_begin < file_.bytes_at_once()) return;
    write_collected();
    span_end = 0;
  };
  const auto note = [&](const PageRun& run) {
    const uint64_t place = region.offset_of(run.begin);
    if (run.state == PageState::dirty) {
      for_each_changed_part(region, run, collect);
    } else if (!region.is_file_backed && was_written(place, run.bytes)) {
      file_.write_zeros(place, run.bytes);  // the place in the file has had another user before
      checksums_.replace_by_zeros(place, run.bytes);
    } else if (run.state == PageState::absent && region.pieces != 0) {
      write_collected();  // over pieces there is no gap: what is absent of one is not what the file has
      span_end = 0;
    }
  };
  if (region.is_file_backed) check_what_was_loaded(region);
  PageMap pages(region.begin, region.bytes);
  for (PageRun run; pages.next(run);) {
    if (run.state != PageState::absent) present_bytes += run.bytes;
    if (region.is_file_backed && occasion == Occasion::after_use) use.add(run);
    for (PageRun part; next_needed(run, part, occasion);) note(part);
  }
  write_collected();
  present_bytes += use.unread_bytes();
  if (region.is_file_backed) result.loaded_bytes += present_bytes - std::min(present_bytes, region.renewed_bytes);
}

// An allocation is not looked at: whoever asked for it will use it.
bool Arena::holds_something(Region& region) {
  if (region.is_file_backed || !region.is_static) return true;
  PageMap pages(region.begin, region.bytes);
  for (PageRun run; !region.was_touched && pages.next(run);) region.was_touched = run.state == PageState::dirty;
  return region.was_touched;
}

void Arena::map_file(const Region& region) {
  for (uint64_t done = 0; done < region.bytes;) {
    const storage::StripedFile::Part part = file_.first_part(region.file_offset + done, region.bytes - done);
    void* address = reinterpret_cast<void*>(region.begin + done);
    if (kernel::map(address, part.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED,
                    part.descriptor, part.offset) == MAP_FAILED)
      base::fatal(
          "cannot map %llu MiB of the spill file: %s\n"
          "  Cause:  mostly, that the kernel allows a process no more mappings (vm.max_map_count).\n"
          "  Remedy: raise that limit, or name one spill directory: with several, each 4 MiB need a mapping.",
          static_cast<unsigned long long>(part.bytes >> 20), strerrordesc_np(errno));
    done += part.bytes;
  }
  advise_kernel(region);
}

// Huge pages let the kernel read ahead 2 MiB at a time.
void Arena::advise_kernel(const Region& region) {
  void* address = reinterpret_cast<void*>(region.begin);
  if (region.advice == Advice::random) {
    kernel::advise(address, region.bytes, MADV_RANDOM);
    kernel::advise(address, region.bytes, MADV_NOHUGEPAGE);
  } else {
    kernel::advise(address, region.bytes, MADV_HUGEPAGE);
  }
}

// What is needed of them is in the file, or on its way there.
void Arena::give_up_pages(const Region& region) {
  file_.finish_writes();
  if (region.is_file_backed && region.pieces == 0)
    kernel::advise(reinterpret_cast<void*>(region.begin), region.bytes, MADV_DONTNEED);
  else
    map_file(region);
  file_.drop_cache(region.file_offset, region.bytes);
}

Arena::Region Arena::part_of(const Region& region, const Pages& pages) {
  Region part = region;
  part.begin = pages.begin;
  part.bytes = pages.bytes;
  part.file_offset = region.offset_of(pages.begin);
  return part;
}

void Arena::note_piece(Region& region) {
  ++region.pieces;
  ++pieces_;
}

void Arena::forget_pieces(Region& region) {
  pieces_ -= region.pieces;
  region.pieces = 0;
  region.renewed_bytes = 0;
  region.last_renewed = Pages{0, 0};
}

void Arena::count(Region& region, const UnloadResult& before, const UnloadResult& after) {
  region.loaded_bytes += after.loaded_bytes - before.loaded_bytes;
  region.written_bytes += after.written_bytes - before.written_bytes;
}

void Arena::write_out(Region& region, Occasion occasion, UnloadResult& result) {
  const UnloadResult before = result;
  void* address = reinterpret_cast<void*>(region.begin);
  if (!holds_something(region)) {  // as it began, it needs no place in the file
    kernel::advise(address, region.bytes, MADV_DONTNEED);
    return;
  }
  if (!region.is_file_backed) {
    file_.reserve(region.file_offset, region.bytes);
    reserve_checksums(region);
  }
  if (!region.is_file_backed && region.beginning == Beginning::program_file) {  // what is absent of it is not zero
    for_each_changed_part(region, PageRun{region.begin, region.bytes, PageState::dirty}, [&](const PageRun& part) {
      write_span(reinterpret_cast<void*>(part.begin), part.bytes, region.offset_of(part.begin), false, result);
    });
  } else {
    write_dirty_pages(region, occasion, result);
  }
  count(region, before, result);
  if (!region.is_file_backed) mark_written(region.file_offset, region.bytes);
  if (occasion != Occasion::after_use) history_.note_dropped(region.file_offset, region.bytes);
  give_up_pages(region);
  region.is_file_backed = true;
  forget_pieces(region);
}

void Arena::unload_region(Region& region, Occasion occasion, UnloadResult& result) {
  write_out(region, occasion, result);
  region.unloaded_in_epoch = epoch_;
  result.released_bytes += region.bytes;
}

// Programs with threads of their own making may call MPI on a stack that they have allocated: this thread writes to it.
bool Arena::is_own_stack(const Region& region) {
  const auto end = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return region.begin < end && end - kStackBytes < region.end();
}

// Registration caches of MPI libraries learn of changed mappings by functions of the C library, which cannot be called
// while other threads are stopped. This one changes nothing.
void Arena::announce(uint64_t begin, uint64_t bytes) {
  [[maybe_unused]] const void* same = mremap(reinterpret_cast<void*>(begin), bytes, bytes, 0);
}

// Other threads are stopped for some regions at a time, so that they get on in between.
template <typename Choice>
void Arena::unload_regions(uint64_t wanted_bytes, Occasion occasion, Choice is_chosen, UnloadResult& result) {
  for (uint32_t next = 0; next < region_count_ && result.released_bytes < wanted_bytes && !result.is_refused;) {
    const uint64_t batch_bytes = std::min(wanted_bytes - result.released_bytes, kBatchBytes);
    uint32_t batch[kBatchRegions];
    uint32_t count = 0;
    for (uint64_t bytes = 0; next < region_count_ && count < kBatchRegions && bytes < batch_bytes; ++next) {
      Region& region = regions_[next];
      if (region.begin == 0 || is_used_by_others(region) || is_own_stack(region) || !is_chosen(region)) continue;
      announce(region.begin, region.bytes);
      bytes += region.bytes;
      batch[count++] = next;
    }
    if (count == 0) return;
    const StoppedThreads stopped(threads_);
    result.is_refused = !stopped;
    are_threads_trusted_ |= stopped.are_trusted();
    update_chunks_stay();
    for (uint32_t i = 0; i < count && stopped; ++i)
      if (regions_[batch[i]].chunk == nullptr || !chunks_stay_) unload_region(regions_[batch[i]], occasion, result);
  }
}

UnloadResult Arena::unload(uint64_t wanted_bytes, bool has_run) {
  UnloadResult result;
  if (!file_.is_open()) return result;
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  update_chunks_stay();
  const Occasion occasion = has_run ? Occasion::after_use : Occasion::without_use;
  result.freed_bytes = result.released_bytes = release_spare();
  // First what holds nothing yet.
  unload_regions(
      wanted_bytes, occasion, [this](Region& region) { return is_charged(region) && !holds_something(region); },
      result);
  unload_regions(
      wanted_bytes, occasion, [this](Region& region) { return is_charged(region) && region.advice == Advice::cold; },
      result);
  unload_regions(
      wanted_bytes, occasion, [this](Region& region) { return is_charged(region) && region.chunk == nullptr; }, result);
  unload_regions(
      wanted_bytes, occasion, [this](Region& region) { return is_charged(region); }, result);
  return result;
}

bool Arena::is_any_resident(const Region& region) {
  PageMap pages(region.begin, region.bytes);
  for (PageRun run; pages.next(run);)
    if (run.state != PageState::absent) return true;
  return false;
}

UnloadResult Arena::unload_again() {
  UnloadResult result;
  if (!file_.is_open()) return result;
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  update_chunks_stay();
  unload_regions(
      ~uint64_t{0}, Occasion::without_use,
      [this](Region& region) { return region.is_counted && !is_charged(region) && is_any_resident(region); }, result);
  return result;
}

}  // namespace spillway::memory
