// Storage-backed memory of one rank (SBMA; shared design, section 5).
//
// The problem: bring a sleeping rank's memory to storage and back, so that the program does not notice: not its
// pointers, not its system calls, not its other threads. The way: each allocation consists of *regions* of some MiB, so
// that no more of it goes than is wanted, and what others use of it is all that has to stay. A region is anonymous
// memory while it has never been unloaded. To unload it, its dirty pages are written to the rank's spill file, and the
// file is mapped privately over the same addresses. From then on every access, from wherever it comes, loads what it
// touches through the kernel's own fault path; a page that is written becomes an anonymous copy, which is what tells
// dirty from clean at the next unload (page_map.h). Clean pages are not written again; freed memory is never written at
// all.
//
// Pieces of a mapped region may be exchanged for anonymous memory: with their contents where the rank is expected to
// rewrite them (load_expected()), without where they are about to be overwritten (renew()). All pages of such a piece
// count as dirty.
//
// While the node has room, freed allocations are kept as *spare* ones, to be given out again with the pages that they
// have: a program that allocates and frees its work arrays in every iteration would else have the kernel clear all
// their pages every time. Spare ones stay charged; they are the first that goes when room is wanted.
//
// A region's place in the file is its place in the arena: no table, no fragmentation of its own. (Where several
// directories share the file, each has every so many stripes of it: storage/striped_file.h.) Only
// sleeping ranks unload, in their own sleeping thread.
//
// Large static variables (Fortran's COMMON blocks and module arrays, static arrays of C and C++) are regions too, once
// they are adopted: they keep their addresses, and a part of the arena's addresses that nothing is ever mapped to is
// their place in the file. Programs declare them for the largest problem and touch as much as the problem at hand
// needs, so they are cut into pieces: one that nobody has touched costs nothing to unload, and can be left out of the
// account until somebody touches it.
//
// A program that knows better may load, unload and discard ranges of its own allocations while it runs (SBMA 3.1). That
// moves pages, but no charge: a rank that runs is charged for all of its memory, since it may touch any of it.
//
// Each page of the file has a checksum (storage/page_checksums.h). What is loaded at once is compared with it before
// anybody sees it. What the kernel brings in is compared when it is unloaded, freed or discarded, and at the end, as
// far as the page cache still has it: a rank that has seen something else than it wrote does not finish its job.
//
// Thread-safe but for unload_range(), during which no thread of the rank may write to the pages of the range; unload(),
// unload_again(), load_expected(), and unload_range() for what is unloaded beside the range, stop the other threads.
// The first three and renew() heed Overwrites, and are called by the thread that may change them. Allocates nothing
// from malloc.
//
// Invariants: charged bytes of the ledger == sum of `bytes` over regions with is_charged, spare ones included; every
// granule of the file that was ever written has its bit in written_; managed_bytes_ == sum of `bytes` over regions with
// is_counted.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/spill_directories.h"
#include "memory/address_space.h"
#include "memory/forked_children.h"
#include "memory/overwrites.h"
#include "memory/page_map.h"
#include "memory/pages.h"
#include "memory/stopped_threads.h"
#include "memory/use_history.h"
#include "storage/page_checksums.h"
#include "storage/striped_file.h"

namespace spillway::memory {

struct Chunk;  // chunk.h

// What there is no more of, so that something stays in memory that would be managed: entries of the arena
// (kMaximumRegions), or what the kernel lets a process map (where the C library may have no memory either).
enum class Want : uint8_t { regions, mappings };

// The arena's view of the node's ledger. Unset before MPI_Init and in forked children.
struct MemoryAccount {
  void (*make_room)(uint64_t bytes) = nullptr;  // before an allocation; may sleep
  void (*give_back)(uint64_t resident_bytes, uint64_t managed_bytes) = nullptr;
  uint64_t (*spare_limit)() = nullptr;  // how much memory that it does not use the rank may keep now
  // Once for each: something stays in memory from now on. Called under the arena's mutex.
  void (*is_in_want)(Want want) = nullptr;
};

// Whether somebody may use the memory between two addresses who does not ask before, so that it has to stay. Unset in
// forked children.
using UseByOthers = bool (*)(uint64_t begin, uint64_t end);

enum class Contents { any, zero };

// Of what a rank has unloaded: what it is expected to rewrite, as it did when it last ran, or also what it is expected
// to read.
enum class Expected { rewritten, used };

// What a static variable began with.
enum class Beginning : uint8_t { zeros, program_file };

// What the ledger has to charge for static data.
struct StaticCharge {
  uint64_t managed_bytes = 0;
  uint64_t resident_bytes = 0;  // of these, in memory by now
};

struct UnloadResult {
  uint64_t released_bytes = 0;  // of charge
  uint64_t freed_bytes = 0;     // of these, for good: they were spare
  uint64_t written_bytes = 0;   // to the spill file
  uint64_t loaded_bytes = 0;    // found to have been loaded since the last unload
  bool is_refused = false;      // other threads could not be stopped: no more was given up
};

// What the program says of a range's use. `random`: touched here and there, so nothing beside what is touched is worth
// reading. `rewritten`: whole, whenever the rank runs. `cold`: not for a while; it goes first.
enum class Advice : uint8_t { normal, random, rewritten, cold };

// Of an allocation, or a large static variable, since the rank began.
struct AllocationReport {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint64_t resident_bytes = 0;  // of its pages, in memory now
  uint64_t loaded_bytes = 0;    // found to have been loaded when it was unloaded
  uint64_t written_bytes = 0;   // to the spill file
};

// What came of an operation on a range of addresses. `not_managed`: the range does not lie in one allocation of the
// arena. `no_storage`: there is no spill file. `pinned`: it must stay in memory, as others use it.
enum class RangeResult { done, not_managed, no_storage, pinned };

class Arena {
 public:
  // The kernel allows 65,530 mappings. A piece in the middle of a region makes two more.
  static constexpr uint32_t kMaximumRegions = 60000;
  static constexpr size_t kMostReports = kMaximumRegions;

  // Reserves up to `address_bytes` of addresses with the first allocation: as a file of ext4 may at most be 16 TiB
  // large, a quarter of that.
  constexpr explicit Arena(uint64_t address_bytes = 4ull << 40) : address_bytes_(address_bytes) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  bool contains(const void* address) const {
    const uint64_t bytes = bytes_.load(std::memory_order_acquire);  // pairs with reserve_addresses
    return reinterpret_cast<uint64_t>(address) - begin_ < bytes;
  }

  // Memory for at least `bytes`, or nullptr when the system has none. `alignment` is a power of two. What is allocated
  // for a chunk of small allocations, of Chunk::kMostBytes at most, is none of the program's allocations: it is
  // unloaded last, as it has some of everything, and the program has no say in it.
  void* allocate(size_t bytes, size_t alignment, Contents contents = Contents::any, Chunk* chunk = nullptr);

  // That has the address; nullptr when no chunk has it. REQUIRES: contains(address), in an allocation.
  Chunk* chunk_around(const void* address) const {
    const uint32_t entry = region_of_granule_[(reinterpret_cast<uint64_t>(address) - begin_) / kGranuleBytes];
    return entry != 0 ? regions_[entry - 1].chunk : nullptr;
  }

  // As discard_range, of pages of a chunk that nobody uses. False when it must stay.
  bool discard_of_chunk(const Pages& pages);

  // REQUIRES: `address` came from allocate() and has not been freed.
  void free(void* address);
  size_t usable_bytes(const void* address);

  // Changes the size without moving; false when that is not possible.
  bool resize_in_place(void* address, size_t bytes);

  // From now on allocations are charged to `account`. Returns the bytes allocated so far.
  uint64_t attach(const MemoryAccount& account, const base::SpillDirectories& directories);
  void keep_checksums();                                                      // before attach(), or never
  void control_threads(const ThreadControl& threads) { threads_ = threads; }  // before attach()
  void respect(UseByOthers others_use) { others_use_ = others_use; }          // the same
  void heed(const Overwrites& overwrites) { overwrites_ = &overwrites; }      // the same
  // For a forked child: the file is its parent's, who goes on changing it.
  void detach() {
    checksums_.initialise(nullptr);
    account_ = MemoryAccount{};
    threads_ = ThreadControl{};
    others_use_ = nullptr;
    overwrites_ = nullptr;
  }

  // Whether there are addresses to allocate: not where the address space is limited (ulimit -v).
  bool has_addresses() const { return bytes_.load(std::memory_order_acquire) != 0; }

  // From now on the whole pages of a static variable belong to the arena; its other pages hold other variables too.
  // Whoever uses it notices nothing. A range that overlaps with an adopted one is left alone. REQUIRES: attach() was
  // called; the variable lives as long as the process.
  StaticCharge adopt(const void* address, size_t bytes, Beginning beginning);

  // Leaves `wanted_bytes` or more of the static data that nobody has touched so far out of the account, as far as there
  // are as many: last pieces first, as arrays are filled from the front. Returns their bytes.
  uint64_t uncount_untouched(uint64_t wanted_bytes);

  // Takes back into the account what has been touched of them since. Returns their bytes, which the caller charges.
  uint64_t count_touched();

  // How much of the addresses between `begin` and `end` is static data of the arena and in memory.
  uint64_t resident_static_bytes(uint64_t begin, uint64_t end);

  // Gives up the regions that are kept for reuse. Returns their bytes.
  uint64_t drop_spare();

  // Writes out and gives up regions until `wanted_bytes` of charge are released or nothing is left. `has_run`: since
  // the rank was charged for them, so that what it has used tells what it will use.
  UnloadResult unload(uint64_t wanted_bytes, bool has_run = true);

  // Brings it into memory, a piece after the other until must_stop(). What is read needs this only ahead of the rank's
  // turn: else the kernel reads ahead of it. Other threads may run. REQUIRES: the arena's memory is charged, and the
  // MPI library does not use it.
  void load_expected(
      Expected expected, bool (*must_stop)() = [] { return false; });

  // Of what is unloaded, as much as load_expected(Expected::rewritten) would bring in, about.
  uint64_t expected_bytes();

  // All of the range is overwritten next: what is not in memory of it becomes fresh memory, instead of being brought
  // in.
  void renew(void* address, uint64_t bytes);

  // Brings what is unloaded of the range into memory.
  [[nodiscard]] RangeResult load_range(const void* address, size_t bytes);

  // Of what has been unloaded and not been charged since: writes out and gives up what was loaded in the meantime.
  UnloadResult unload_again();

  // Writes out and gives up the pages of the range; of regions that are unloaded for the first time, or have pieces,
  // all of their pages. `pinned` also when other threads cannot be stopped for those, and for the one that has the
  // caller's stack.
  [[nodiscard]] RangeResult unload_range(const void* address, size_t bytes, UnloadResult& result);

  // What is in the range is not needed any more: gives up the pages that lie wholly in it and writes nothing. Their
  // contents are undefined until they are written again.
  [[nodiscard]] RangeResult discard_range(void* address, size_t bytes);

  // For the regions that have a part of the range.
  [[nodiscard]] RangeResult advise_range(const void* address, size_t bytes, Advice advice);

  // Fills in as many reports as there is room for, and returns how many there are, at most kMostReports.
  size_t report(AllocationReport* reports, size_t capacity);

  // The regions that others use: none of them is unloaded.
  uint64_t bytes_used_by_others();

  // Chunks are not unloaded, and none may be given back: other threads may write to them at any time, or a forked child
  // sees what they have in the file.
  bool must_chunks_stay();

  // Ends the process where the kernel has brought in something else than had been written.
  void check_what_was_loaded();

  // Grows whenever that may be another, as far as it depends on the arena.
  uint64_t changes() const { return changes_; }

  // The ledger has charged the rank for all its memory again.
  void mark_all_charged() { ++epoch_; }

  uint64_t managed_bytes() const { return managed_bytes_; }

  // For fork: a child must not inherit the lock in the middle of an operation.
  void lock_for_fork() {
    pthread_mutex_lock(&mutex_);
    if (file_.is_open()) children_.before_fork();
  }
  void unlock_after_fork_in_parent() {
    children_.after_fork_in_parent();
    pthread_mutex_unlock(&mutex_);
  }
  void unlock_after_fork_in_child() {
    children_.after_fork_in_child();
    mutex_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;  // its owner was the parent
  }

 private:
  struct Region {
    uint64_t begin = 0;              // address; 0: the entry is free
    uint64_t bytes = 0;              // mapped, a multiple of kGranuleBytes; of static data: of kPageBytes
    uint64_t file_offset = 0;        // its place in the spill file
    uint64_t unloaded_in_epoch = 0;  // charge was given up in this epoch; 0: never unloaded
    // Of the whole allocation, in the region that it begins with; else 0.
    uint64_t allocation_bytes = 0;
    uint64_t variable = 0;   // static data: where that begins that it is a piece of
    Chunk* chunk = nullptr;  // whose memory it is
    uint32_t next = 0;       // region of the allocation, or free entry: its number plus one; 0: none
    // Since it was mapped from the spill file: what was renewed of it, and where last.
    uint64_t renewed_bytes = 0;
    Pages last_renewed{0, 0};
    UsePredictor predictor{};
    uint64_t loaded_bytes = 0;    // AllocationReport
    uint64_t written_bytes = 0;   // the same
    uint32_t pieces = 0;          // that have been exchanged for other memory since: a mapping each
    bool is_file_backed = false;  // mapped from the spill file, but for its pieces
    bool is_static = false;
    bool is_counted = true;
    bool was_touched = false;  // when somebody last looked
    Beginning beginning = Beginning::zeros;
    Advice advice = Advice::normal;

    uint64_t end() const { return begin + bytes; }
    uint64_t offset_of(uint64_t address) const { return file_offset + (address - begin); }
  };

  static constexpr uint64_t kGranuleBytes = 64 << 10;
  // Of an allocation: long enough for the full rate of a disk. Longer where there would be too many.
  static constexpr uint64_t kRegionBytes = 16 << 20, kMostRegions = 4096;
  static constexpr uint32_t kMaximumSpare = 16;
  static constexpr uint32_t kMaximumPieces = 1500;

  void update_chunks_stay();
  bool reserve_addresses();
  static uint64_t checksum_bytes(uint64_t bytes);
  void place_checksums();
  void reserve_checksums(const Region& region);
  MemoryAccount account();
  static uint64_t region_bytes_of(uint64_t bytes);
  bool has_entries_for(uint64_t bytes);
  // Before there is an account nobody knows of the job.
  void tell_of(Want want) {
    if (account_.is_in_want != nullptr && !std::exchange(has_told_of_[static_cast<size_t>(want)], true))
      account_.is_in_want(want);
  }
  void* place(uint64_t bytes, uint64_t alignment, Chunk* chunk);
  // Of an allocation; `visit` may release what it is given.
  template <typename Visit>
  void for_each_region(Region& first, Visit visit) {
    for (uint32_t next = static_cast<uint32_t>(&first - regions_) + 1; next != 0;) {
      Region& region = regions_[next - 1];
      next = region.next;
      visit(region);
    }
  }
  void set_live(Region& first, bool is_live);
  bool keep_spare(Region& first, uint64_t limit);
  Region* take_spare(uint64_t bytes, uint64_t alignment, Chunk* chunk);
  Region& remove_spare(uint32_t index);
  uint64_t release_spare();
  void release(Region& first);
  Region& allocation_at(const void* address);
  uint32_t free_entries() const { return kMaximumRegions - region_count_ + free_region_count_; }
  uint32_t take_region_entry();
  bool map_fresh(uint64_t begin, uint64_t bytes);
  bool is_charged(const Region& region) const { return region.is_counted && region.unloaded_in_epoch != epoch_; }
  Region* allocation_around(const void* address, size_t bytes);
  bool is_spare(const Region& region) const {
    return !region.is_static && region_of_granule_[(region.begin - begin_) / kGranuleBytes] == 0;
  }
  bool is_used_by_others(const Region& region) const {
    return (region.chunk != nullptr && chunks_stay_) ||
           (others_use_ != nullptr && others_use_(region.begin, region.end()));
  }
  template <typename Operation>
  RangeResult for_each_part(const void* address, size_t bytes, Operation operation);
  void discard_pages(const Region& region, const Pages& pages);
  bool is_adopted(uint64_t begin, uint64_t end) const;
  bool holds_something(Region& region);
  static bool is_own_stack(const Region& region);
  void map_file(const Region& region);
  static void advise_kernel(const Region& region);
  static void count(Region& region, const UnloadResult& before, const UnloadResult& after);
  void give_up_pages(const Region& region);
  static Region part_of(const Region& region, const Pages& pages);
  void note_piece(Region& region);
  void forget_pieces(Region& region);
  bool are_overwritten(uint64_t begin, uint64_t end) const {
    return overwrites_ != nullptr && overwrites_->overlap(begin, end);
  }
  enum class Loading { none, at_once, through_cache };
  bool load_next_piece(uint32_t entry, uint64_t& done, Expected expected);
  Use use_of(const Region& region, uint64_t place) const {
    return region.advice == Advice::rewritten ? Use::rewritten : history_.use_of(place, region.predictor);
  }
  Loading loading_of(const Region& region, uint64_t block, uint64_t bytes, Expected expected) const;
  void load_piece(Region& region, uint64_t begin, uint64_t bytes);
  void read_piece(const Region& region, uint64_t begin, uint64_t bytes);
  // Why a region is unloaded. `after_use`: what its pages tell is what the rank has done since it was charged for them.
  enum class Occasion { after_use, without_use, by_program };
  void write_out(Region& region, Occasion occasion, UnloadResult& result);
  void unload_region(Region& region, Occasion occasion, UnloadResult& result);
  static void announce(uint64_t begin, uint64_t bytes);
  static bool is_any_resident(const Region& region);
  template <typename Choice>
  void unload_regions(uint64_t wanted_bytes, Occasion occasion, Choice is_chosen, UnloadResult& result);
  bool write_out_around(Region& region, const Pages& pages, UnloadResult& result);
  bool next_needed(PageRun& rest, PageRun& part, Occasion occasion) const;
  void write_dirty_pages(Region& region, Occasion occasion, UnloadResult& result);
  void check_what_was_loaded(const Region& region);
  template <typename Visit>
  void for_each_changed_part(const Region& region, const PageRun& run, Visit visit);
  void write_span(const void* data, uint64_t bytes, uint64_t offset, bool has_gaps, UnloadResult& result);
  void mark_written(uint64_t offset, uint64_t bytes);
  bool was_written(uint64_t offset, uint64_t bytes) const;

  pthread_mutex_t mutex_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  uint64_t address_bytes_;
  uint64_t begin_ = 0;               // constant from when bytes_ is set
  std::atomic<uint64_t> bytes_ = 0;  // of the reserved addresses; 0: none yet
  bool reservation_failed_ = false;
  bool has_told_of_[2] = {};  // by Want
  AddressSpace addresses_;
  Region* regions_ = nullptr;
  uint32_t region_count_ = 0;       // entries ever used
  uint32_t free_region_ = 0;        // head of the list of free entries, plus one; 0: none
  uint32_t free_region_count_ = 0;  // entries in it
  // Entry number plus one, for the granule that a region begins with, and for all granules of a chunk.
  uint32_t* region_of_granule_ = nullptr;
  uint64_t* written_ = nullptr;         // bitmap of the granules whose place in the file was ever written
  uint32_t spare_[kMaximumSpare] = {};  // first entries of the allocations kept for reuse, oldest first
  uint32_t spare_count_ = 0;
  uint64_t spare_bytes_ = 0;
  uint64_t epoch_ = 1;
  uint64_t managed_bytes_ = 0;
  uint64_t static_begin_ = ~uint64_t{0};  // all static data lie between these
  uint64_t static_end_ = 0;
  uint64_t uncounted_bytes_ = 0;  // static data
  uint32_t pieces_ = 0;           // of all regions
  MemoryAccount account_;
  std::atomic<uint64_t> changes_ = 0;
  ThreadControl threads_;
  ForkedChildren children_;
  bool are_threads_trusted_ = false;
  bool chunks_stay_ = false;  // must_chunks_stay() when somebody last looked
  UseByOthers others_use_ = nullptr;
  const Overwrites* overwrites_ = nullptr;
  UseHistory history_;
  storage::StripedFile file_;
  storage::PageChecksums checksums_;
  bool keeps_checksums_ = false;
};

}  // namespace spillway::memory
