// What a rank did with its memory while it was in memory last: whether it is worth loading at once.
//
// What a phase only reads is best left to the kernel, which reads ahead, and shares no page with anything. What it
// writes is copied page by page on its first write, so that what a phase rewrites costs nine times what a write to
// ordinary memory costs (docs/decisions/memory-is-loaded-at-once.md). Such memory is loaded at once instead, into fresh
// anonymous pages. As what Spillway has loaded does not tell what the rank has used, each block is left to the kernel
// again after some times, to see.
//
// Kept by place in the spill file, for blocks of 2 MiB that are counted from the beginning of a region. Pieces of
// static data may share an entry at their ends; all that an entry decides is what is done when. Allocates nothing; not
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "memory/page_map.h"

namespace spillway::memory {

enum class Use : uint8_t { unknown, little, read, rewritten };

class UseHistory {
 public:
  static constexpr uint64_t kBlockBytes = 2 << 20;
  static constexpr uint64_t kUnitBytes = 64 << 10;  // places of allocations are multiples of this
  static constexpr uint8_t kLoadsUntilProbe = 8;

  // `table` has a byte, zero, for each unit of the file.
  void initialise(uint8_t* table) { table_ = table; }

  void forget(uint64_t place, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += kBlockBytes) entry(place + at) = 0;
  }

  Use use_of(uint64_t place) const { return static_cast<Use>(table_[place / kUnitBytes] & kUse); }
  bool is_loaded(uint64_t place) const { return (table_[place / kUnitBytes] & kLoaded) != 0; }

  uint64_t rewritten_bytes(uint64_t place, uint64_t bytes) const {
    uint64_t sum = 0;
    for (uint64_t at = 0; at < bytes; at += kBlockBytes)
      if (use_of(place + at) == Use::rewritten) sum += std::min(kBlockBytes, bytes - at);
    return sum;
  }

  void note_loaded(uint64_t place, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += kBlockBytes) entry(place + at) |= kLoaded;
  }

  // Of a region at `first`, what lies between the two was overwritten without being loaded: there is no use in loading
  // it next time.
  void note_renewed(uint64_t first, uint64_t begin, uint64_t end) {
    const uint64_t offset = (begin - first + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    for (uint64_t place = first + offset; place + kBlockBytes <= end; place += kBlockBytes)
      entry(place) = static_cast<uint8_t>(Use::little) | kLoaded;
  }

  // The block is unloaded; of its bytes so many have been touched, and written, since it was mapped from the file.
  void note_unloaded(uint64_t place, uint64_t bytes, uint64_t touched_bytes, uint64_t written_bytes) {
    uint8_t& known = entry(place);
    if ((known & kLoaded) == 0)
      known = static_cast<uint8_t>(use_from(bytes, touched_bytes, written_bytes));
    else if (known >> kLoadsShift == kLoadsUntilProbe - 1)
      known = static_cast<uint8_t>(Use::little);
    else
      known = static_cast<uint8_t>((known & ~kLoaded) + (1 << kLoadsShift));
  }

  // The blocks are unloaded, and that tells nothing.
  void note_dropped(uint64_t place, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += kBlockBytes) entry(place + at) &= static_cast<uint8_t>(~kLoaded);
  }

 private:
  // Of each byte: the use, whether the block is loaded at once now, and how often it has been since it was seen used.
  static constexpr uint8_t kUse = 0x03, kLoaded = 0x04, kLoadsShift = 3;

  static Use use_from(uint64_t bytes, uint64_t touched_bytes, uint64_t written_bytes) {
    if (written_bytes >= bytes / 2) return Use::rewritten;
    return touched_bytes >= bytes / 2 ? Use::read : Use::little;
  }

  uint8_t& entry(uint64_t place) { return table_[place / kUnitBytes]; }

  uint8_t* table_ = nullptr;
};

// Adds up the pages of a region, in order, as it is unloaded.
class UseRecorder {
 public:
  UseRecorder(UseHistory& history, uint64_t place, uint64_t bytes)
      : history_(history), block_(place), place_(place), end_(place + bytes) {}

  void add(const PageRun& run) {
    for (uint64_t left = run.bytes; left != 0;) {
      const uint64_t block_end = std::min(block_ + UseHistory::kBlockBytes, end_);
      const uint64_t part = std::min(left, block_end - place_);
      if (run.state == PageState::dirty) written_ += part;
      if (run.state != PageState::absent) touched_ += part;
      place_ += part;
      left -= part;
      if (place_ != block_end) continue;
      history_.note_unloaded(block_, block_end - block_, touched_, written_);
      block_ = block_end;
      touched_ = written_ = 0;
    }
  }

 private:
  UseHistory& history_;
  uint64_t block_;
  uint64_t place_;
  uint64_t end_;
  uint64_t touched_ = 0;
  uint64_t written_ = 0;
};

}  // namespace spillway::memory
