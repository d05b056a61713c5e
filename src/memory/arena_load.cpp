// Loading at once what the rank is expected to rewrite, and not at all what it is about to overwrite.
#include <sys/mman.h>

#include <algorithm>

#include "base/system_calls.h"
#include "memory/arena.h"
#include "memory/blocked_signals.h"
#include "memory/mutex_holder.h"
#include "memory/page_map.h"
#include "memory/stopped_threads.h"

namespace spillway::memory {
namespace {

namespace kernel = base::kernel;

constexpr uint64_t kPieceBytes = 64 << 20;

bool is_absent(uint64_t begin, uint64_t bytes) { return PageMap::absent_bytes(begin, bytes) == bytes; }

// Fresh memory, placed so that huge pages of it are huge pages at `target` too.
class Aside {
 public:
  Aside(uint64_t target, uint64_t bytes) : bytes_(bytes) {
    void* mapped = kernel::map(nullptr, bytes + kHugePageBytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) return;
    const auto first = reinterpret_cast<uint64_t>(mapped);
    begin_ = first + (target - first) % kHugePageBytes;
    // Now: once memory has been moved away, its addresses may be another thread's.
    unmap(first, begin_);
    unmap(begin_ + bytes, first + bytes + kHugePageBytes);
    kernel::advise(memory(), bytes_, MADV_HUGEPAGE);
  }
  ~Aside() { unmap(begin_, begin_ == 0 ? 0 : begin_ + bytes_); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  void* memory() const { return reinterpret_cast<void*>(begin_); }

  // Its pages take the place of what is mapped at `target`.
  bool move_to(uint64_t target) {
    if (kernel::move_mapping(memory(), bytes_, reinterpret_cast<void*>(target)) == MAP_FAILED) return false;
    begin_ = 0;
    return true;
  }

  explicit operator bool() const { return begin_ != 0; }

 private:
  static void unmap(uint64_t begin, uint64_t end) {
    if (begin != end) kernel::unmap(reinterpret_cast<void*>(begin), end - begin);
  }

  uint64_t bytes_;
  uint64_t begin_ = 0;
};

}  // namespace

// Read beside what is there, and then exchanged for it: what another thread writes in between shows as a page that is
// not absent any more, and the exchange is left. What is not loaded now is loaded when it is touched.
void Arena::load_piece(Region& region, uint64_t begin, uint64_t bytes) {
  if (pieces_ == kMaximumPieces) return;
  Aside aside(begin, bytes);
  if (!aside) return;
  const uint64_t place = region.offset_of(begin);
  file_.read(aside.memory(), bytes, place);
  const uint64_t damaged = checksums_.damaged_page(place, aside.memory(), bytes);
  if (damaged != storage::PageChecksums::kNowhere) file_.fail_for_damage(damaged);
  if (!file_.is_direct()) file_.drop_cache(place, bytes);
  announce(begin, bytes);
  const StoppedThreads stopped(threads_);
  if (!stopped || (region.chunk != nullptr && stopped.are_trusted()) || !is_absent(begin, bytes)) return;
  if (!aside.move_to(begin)) return map_file(part_of(region, Pages{begin, bytes}));
  history_.note_loaded(place, reinterpret_cast<const void*>(begin), bytes);
  note_piece(region);
}

// Into the page cache, as the program's own reading would, 2 MiB at a time: asked to read ahead for itself, the kernel
// would take small pages, which are slower to fill and to map. By a mapping of its own, so that the rank's page table
// tells what it has read of it.
void Arena::read_piece(const Region& region, uint64_t begin, uint64_t bytes) {
  const uint64_t place = region.offset_of(begin);
  for (uint64_t done = 0, part_bytes = 0; done < bytes; done += part_bytes) {
    const auto part = file_.first_part(place + done, bytes - done);
    part_bytes = part.bytes;
    void* contents = kernel::map(nullptr, part.bytes, PROT_READ, MAP_SHARED, part.descriptor, part.offset);
    if (contents == MAP_FAILED) return;  // the rank reads it when it touches it
    kernel::advise(contents, part.bytes, MADV_HUGEPAGE);
    kernel::advise(contents, part.bytes, kernel::kPopulateRead);
    kernel::unmap(contents, part.bytes);
  }
  history_.note_read_ahead(place, bytes);
}

// What is to be done for a block of a region that is mapped from the file.
Arena::Loading Arena::loading_of(const Region& region, uint64_t block, uint64_t bytes, Expected expected) const {
  const uint64_t place = region.offset_of(block);
  const Use use = use_of(region, place);
  const bool is_read_ahead = use == Use::read && expected == Expected::used && region.advice != Advice::random;
  const bool is_wanted = (use == Use::rewritten || is_read_ahead) && region.advice != Advice::cold;
  if (!is_wanted || !history_.is_left_to_kernel(place)) return Loading::none;
  if (are_overwritten(block, block + bytes) || !is_absent(block, bytes)) return Loading::none;
  return use == Use::rewritten ? Loading::at_once : Loading::through_cache;
}

// Blocks that follow on each other and need the same, from `done` bytes on in a region. False when it is all done.
bool Arena::load_next_piece(uint32_t entry, uint64_t& done, Expected expected) {
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  Region& region = regions_[entry];
  if (region.begin == 0 || !region.is_file_backed || is_used_by_others(region) || is_own_stack(region)) return false;
  uint64_t begin = 0, end = 0;
  Loading piece = Loading::none;
  for (; done < region.bytes && end - begin < kPieceBytes; done += UseHistory::kBlockBytes) {
    const uint64_t block = region.begin + done, bytes = std::min(UseHistory::kBlockBytes, region.bytes - done);
    const Loading loading = loading_of(region, block, bytes, expected);
    if (piece != Loading::none && loading != piece) break;
    if (loading == Loading::none) continue;
    if (piece == Loading::none) begin = block;
    piece = loading;
    end = block + bytes;
  }
  if (piece == Loading::none) return false;
  if (piece == Loading::at_once) load_piece(region, begin, end - begin);
  if (piece == Loading::through_cache) read_piece(region, begin, end - begin);
  return true;
}

uint64_t Arena::expected_bytes() {
  MutexHolder hold(mutex_);
  uint64_t sum = 0;
  for (uint32_t entry = 0; entry < region_count_; ++entry) {
    const Region& region = regions_[entry];
    if (region.begin == 0 || !region.is_file_backed || is_charged(region) || region.advice == Advice::cold) continue;
    sum += region.advice == Advice::rewritten
               ? region.bytes
               : history_.rewritten_bytes(region.file_offset, region.bytes, region.predictor);
  }
  return sum;
}

void Arena::load_expected(Expected expected, bool (*must_stop)()) {
  if (!file_.is_open()) return;
  uint32_t count = 0;
  {
    MutexHolder hold(mutex_);
    count = region_count_;
  }
  for (uint32_t entry = 0; entry < count; ++entry) {
    uint64_t done = 0;
    while (load_next_piece(entry, done, expected))
      if (must_stop()) return;
  }
}

}  // namespace spillway::memory
