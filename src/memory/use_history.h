// What a rank did with its memory whenever it was in memory: whether it is worth loading at once.
//
// What a phase only reads is best left to the kernel, which reads ahead, and shares no page with anything. What it
// writes is copied page by page on its first write, so that what a phase rewrites costs nine times what a write to
// ordinary memory costs (docs/decisions/memory-is-loaded-at-once.md). Such memory is loaded at once instead, into fresh
// anonymous pages, which is wasted on a phase that leaves it alone: most programs have phases of both kinds.
//
// Kept by place in the spill file, for blocks of 2 MiB that are counted from the beginning of a region. Allocates
// nothing; not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "memory/page_map.h"
#include "memory/pages.h"

namespace spillway::memory {

enum class Use : uint8_t { little, read, rewritten };

// Whether something happens to a block next, as that it is rewritten, from whether it did in up to four phases before
// (its *past*): what followed on the same past in the blocks of the same region. So a phase is recognized by those
// before it, and programs that repeat theirs are learned in two rounds (as processors learn branches, from local
// histories: Yeh and Patt 1991). A phase counts once, however many blocks it happens to.
class PhasePredictor {
 public:
  // A past is a 1, and then a bit for each phase, the last one lowest.
  static constexpr uint8_t kNoPast = 1, kPasts = 32;

  static uint8_t longer(uint8_t past, bool happened) {
    const auto next = static_cast<uint8_t>(past << 1 | (happened ? 1 : 0));
    return next < kPasts ? next : static_cast<uint8_t>((next & (kPasts / 2 - 1)) | kPasts / 2);
  }

  bool expects(uint8_t past) const { return past != kNoPast && counter(past) >= 2; }

  void learn(uint8_t past, bool happened) {
    const uint64_t before = counter(past);
    const uint64_t after = happened ? std::min<uint64_t>(before + 1, 3) : before - std::min<uint64_t>(before, 1);
    counters_ ^= (before ^ after) << 2 * past;
  }

 private:
  uint64_t counter(uint8_t past) const { return counters_ >> 2 * past & 3; }

  // Two bits for each past; at first 2 where it happened in all phases, else 0.
  uint64_t counters_ = 0x8000000080008080;
};

// Of a region.
struct UsePredictor {
  PhasePredictor rewritten;
  PhasePredictor read;
};

// What became of a block in a phase, and what was known before.
struct BlockUse {
  uint8_t rewrite_past;
  uint8_t read_past;
  bool was_rewritten;
  bool was_read;
  uint64_t unread_bytes;  // read ahead, and not touched
};

class UseHistory {
 public:
  static constexpr uint64_t kBlockBytes = 2 << 20;
  static constexpr uint64_t kUnitBytes = 64 << 10;  // places of allocations are multiples of this

  // Both have an entry, zero, for each unit of the file.
  void initialise(uint16_t* entries, uint8_t* samples) {
    entries_ = entries;
    samples_ = samples;
  }

  void forget(uint64_t place, uint64_t bytes) {
    for_each_block(place, bytes, [this](uint64_t block) { entry(block) = 0; });
  }

  // What is expected next of the block.
  Use use_of(uint64_t place, const UsePredictor& predictor) const {
    const uint16_t known = entries_[place / kUnitBytes];
    if (predictor.rewritten.expects(rewrite_past_of(known))) return Use::rewritten;
    return predictor.read.expects(read_past_of(known)) ? Use::read : Use::little;
  }
  // False once Spillway has put something in the place of what the kernel would bring in.
  bool is_left_to_kernel(uint64_t place) const { return (entries_[place / kUnitBytes] & kPresence) == kMapped; }

  uint64_t rewritten_bytes(uint64_t place, uint64_t bytes, const UsePredictor& predictor) const {
    uint64_t sum = 0;
    for (uint64_t at = 0; at < bytes; at += kBlockBytes)
      if (use_of(place + at, predictor) == Use::rewritten) sum += std::min(kBlockBytes, bytes - at);
    return sum;
  }

  // The blocks have been loaded at once, from where they are read now.
  void note_loaded(uint64_t place, const void* contents, uint64_t bytes) {
    const auto* at = static_cast<const char*>(contents);
    for (uint64_t done = 0; done < bytes; done += kUnitBytes)
      samples_[(place + done) / kUnitBytes] = sample_of(at + done, bytes - done);
    for_each_block(place, bytes, [this](uint64_t block) { set_presence(block, kLoaded); });
  }

  void note_read_ahead(uint64_t place, uint64_t bytes) {
    for_each_block(place, bytes, [this](uint64_t block) { set_presence(block, kReadAhead); });
  }

  // Of a region at `first`, what lies between the two was overwritten without being loaded.
  void note_renewed(uint64_t first, uint64_t begin, uint64_t end) {
    const uint64_t offset = (begin - first + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    for (uint64_t place = first + offset; place + kBlockBytes <= end; place += kBlockBytes)
      set_presence(place, kRenewed);
  }

  // The block, which is at `address`, is unloaded; of its bytes so many have been touched, and written, since it was
  // mapped from the file.
  BlockUse note_unloaded(uint64_t place, uint64_t address, uint64_t bytes, uint64_t touched_bytes,
                         uint64_t written_bytes) {
    uint16_t& known = entry(place);
    const uint16_t presence = known & kPresence;
    BlockUse use{rewrite_past_of(known), read_past_of(known), written_bytes >= bytes / 2, touched_bytes >= bytes / 2,
                 presence == kReadAhead ? bytes - touched_bytes : 0};
    if (presence == kLoaded)
      use.was_rewritten = use.was_read = has_changed(place, reinterpret_cast<const char*>(address), bytes);
    if (presence == kRenewed) use.was_rewritten = use.was_read = false;  // there is no use in loading it
    known = static_cast<uint16_t>(PhasePredictor::longer(use.rewrite_past, use.was_rewritten) |
                                  PhasePredictor::longer(use.read_past, use.was_read) << kReadShift);
    return use;
  }

  // The blocks are unloaded, and that tells nothing.
  void note_dropped(uint64_t place, uint64_t bytes) {
    for_each_block(place, bytes, [this](uint64_t block) { set_presence(block, kMapped); });
  }

 private:
  // Of each entry: the past of being rewritten, that of being read, and how the block has come into memory since.
  static constexpr uint16_t kPast = 0x1f, kReadShift = 5, kPresence = 0xc000;
  static constexpr uint16_t kMapped = 0x0000, kLoaded = 0x4000, kReadAhead = 0x8000, kRenewed = 0xc000;
  static constexpr uint64_t kSampleAt = 32 << 10, kSampleBytes = 64;

  static uint8_t past_in(int bits) { return std::max<uint8_t>(bits & kPast, PhasePredictor::kNoPast); }
  static uint8_t rewrite_past_of(uint16_t known) { return past_in(known); }
  static uint8_t read_past_of(uint16_t known) { return past_in(known >> kReadShift); }

  // All pages of what was loaded at once count as dirty: whether it was worth that is seen from one line of each unit.
  static uint8_t sample_of(const char* unit, uint64_t bytes) {
    if (bytes < kSampleAt + kSampleBytes) return 0;
    uint64_t words[kSampleBytes / sizeof(uint64_t)];
    memcpy(words, unit + kSampleAt, sizeof words);
    uint64_t sum = 0;
    for (const uint64_t word : words) sum = (sum ^ word) * 0x9e3779b97f4a7c15;
    return static_cast<uint8_t>(sum >> 56);
  }

  bool has_changed(uint64_t place, const char* at, uint64_t bytes) const {
    uint64_t changed = 0;
    for (uint64_t done = 0; done < bytes; done += kUnitBytes)
      if (samples_[(place + done) / kUnitBytes] != sample_of(at + done, bytes - done)) changed += kUnitBytes;
    return changed >= bytes / 2;
  }

  template <typename Visit>
  static void for_each_block(uint64_t place, uint64_t bytes, Visit visit) {
    for (uint64_t at = 0; at < bytes; at += kBlockBytes) visit(place + at);
  }

  void set_presence(uint64_t place, uint16_t presence) {
    entry(place) = static_cast<uint16_t>((entry(place) & ~kPresence) | presence);
  }
  uint16_t& entry(uint64_t place) { return entries_[place / kUnitBytes]; }

  uint16_t* entries_ = nullptr;
  uint8_t* samples_ = nullptr;
};

// Adds up the pages of a region, in order, as it is unloaded.
class UseRecorder {
 public:
  UseRecorder(UseHistory& history, UsePredictor& predictor, uint64_t place, const Pages& pages)
      : history_(history),
        predictor_(predictor),
        block_(pages.begin),
        at_(pages.begin),
        end_(pages.end()),
        place_(place - pages.begin) {}
  ~UseRecorder() {
    for (uint8_t past = 0; past < PhasePredictor::kPasts; ++past) {
      if (rewrite_votes_[past] != 0) predictor_.rewritten.learn(past, rewrite_votes_[past] > 0);
      if (read_votes_[past] != 0) predictor_.read.learn(past, read_votes_[past] > 0);
    }
  }
  UseRecorder(const UseRecorder&) = delete;
  UseRecorder& operator=(const UseRecorder&) = delete;

  void add(const PageRun& run) {
    for (uint64_t left = run.bytes; left != 0;) {
      const uint64_t block_end = std::min(block_ + UseHistory::kBlockBytes, end_);
      const uint64_t part = std::min(left, block_end - at_);
      if (run.state == PageState::dirty) written_ += part;
      if (run.state != PageState::absent) touched_ += part;
      at_ += part;
      left -= part;
      if (at_ != block_end) continue;
      const BlockUse use = history_.note_unloaded(place_ + block_, block_, block_end - block_, touched_, written_);
      rewrite_votes_[use.rewrite_past] += use.was_rewritten ? 1 : -1;
      read_votes_[use.read_past] += use.was_read ? 1 : -1;
      unread_bytes_ += use.unread_bytes;
      block_ = block_end;
      touched_ = written_ = 0;
    }
  }

  // Of the pages so far, what was read ahead and has not been touched.
  uint64_t unread_bytes() const { return unread_bytes_; }

 private:
  UseHistory& history_;
  UsePredictor& predictor_;
  uint64_t block_;  // addresses
  uint64_t at_;
  uint64_t end_;
  uint64_t place_;  // to be added to an address, modulo 2^64
  uint64_t touched_ = 0;
  uint64_t written_ = 0;
  uint64_t unread_bytes_ = 0;
  // Of blocks with the same past: to how many more it happened than not.
  int64_t rewrite_votes_[PhasePredictor::kPasts] = {};
  int64_t read_votes_[PhasePredictor::kPasts] = {};
};

}  // namespace spillway::memory
