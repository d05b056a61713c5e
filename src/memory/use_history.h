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
#include <utility>

#include "memory/page_map.h"
#include "memory/pages.h"

namespace spillway::memory {

enum class Use : uint8_t { little, read, rewritten };

// Whether a block is rewritten next, from whether it was in up to four phases before (its *past*): what followed on the
// same past in the blocks of the same region. So a phase is recognized by those before it, and programs that repeat
// theirs are learned in two rounds (as processors learn branches, from local histories: Yeh and Patt 1991). A phase
// counts once, however many blocks it rewrites.
class RewritePredictor {
 public:
  // A past is a 1, and then a bit for each phase, the last one lowest.
  static constexpr uint8_t kNoPast = 1, kPasts = 32;

  static uint8_t longer(uint8_t past, bool was_rewritten) {
    const auto next = static_cast<uint8_t>(past << 1 | (was_rewritten ? 1 : 0));
    return next < kPasts ? next : static_cast<uint8_t>((next & (kPasts / 2 - 1)) | kPasts / 2);
  }

  bool expects(uint8_t past) const { return past != kNoPast && counter(past) >= 2; }

  void learn(uint8_t past, bool was_rewritten) {
    const uint64_t before = counter(past);
    const uint64_t after = was_rewritten ? std::min<uint64_t>(before + 1, 3) : before - std::min<uint64_t>(before, 1);
    counters_ ^= (before ^ after) << 2 * past;
  }

 private:
  uint64_t counter(uint8_t past) const { return counters_ >> 2 * past & 3; }

  // Two bits for each past; at first 2 where the block was rewritten in all phases, else 0.
  uint64_t counters_ = 0x8000000080008080;
};

class UseHistory {
 public:
  static constexpr uint64_t kBlockBytes = 2 << 20;
  static constexpr uint64_t kUnitBytes = 64 << 10;  // places of allocations are multiples of this

  // Both have a byte, zero, for each unit of the file.
  void initialise(uint8_t* entries, uint8_t* samples) {
    entries_ = entries;
    samples_ = samples;
  }

  void forget(uint64_t place, uint64_t bytes) {
    for_each_block(place, bytes, [this](uint64_t block) { entry(block) = 0; });
  }

  // What is expected next of the block.
  Use use_of(uint64_t place, const RewritePredictor& predictor) const {
    const uint8_t known = entries_[place / kUnitBytes];
    if (predictor.expects(past_of(known))) return Use::rewritten;
    return (known & kWasRead) != 0 ? Use::read : Use::little;
  }
  // False once Spillway has put something in the place of what the kernel would bring in.
  bool is_left_to_kernel(uint64_t place) const { return (entries_[place / kUnitBytes] & kPresence) == kMapped; }

  uint64_t rewritten_bytes(uint64_t place, uint64_t bytes, const RewritePredictor& predictor) const {
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
  // mapped from the file. `looks_again`: what was read ahead is left to the kernel next time, to see whether it is
  // read. Returns the block's past before, and whether it was rewritten now, for the predictor.
  std::pair<uint8_t, bool> note_unloaded(uint64_t place, uint64_t address, uint64_t bytes, uint64_t touched_bytes,
                                         uint64_t written_bytes, bool looks_again) {
    uint8_t& known = entry(place);
    const uint8_t presence = known & kPresence, past = past_of(known);
    bool was_rewritten = written_bytes >= bytes / 2, was_read = touched_bytes >= bytes / 2;
    if (presence == kLoaded)
      was_rewritten = was_read = has_changed(place, reinterpret_cast<const char*>(address), bytes);
    if (presence == kReadAhead) was_read = !looks_again;
    if (presence == kRenewed) was_rewritten = was_read = false;  // there is no use in loading it
    known = static_cast<uint8_t>(RewritePredictor::longer(past, was_rewritten) | (was_read ? kWasRead : 0));
    return {past, was_rewritten};
  }

  // The blocks are unloaded, and that tells nothing.
  void note_dropped(uint64_t place, uint64_t bytes) {
    for_each_block(place, bytes, [this](uint64_t block) { set_presence(block, kMapped); });
  }

 private:
  // Of each entry: the past, whether the block was read last time, and how it has come into memory since.
  static constexpr uint8_t kPast = 0x1f, kWasRead = 0x20, kPresence = 0xc0;
  static constexpr uint8_t kMapped = 0x00, kLoaded = 0x40, kReadAhead = 0x80, kRenewed = 0xc0;
  static constexpr uint64_t kSampleAt = 32 << 10, kSampleBytes = 64;

  static uint8_t past_of(uint8_t known) { return std::max<uint8_t>(known & kPast, RewritePredictor::kNoPast); }

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

  void set_presence(uint64_t place, uint8_t presence) {
    entry(place) = static_cast<uint8_t>((entry(place) & ~kPresence) | presence);
  }
  uint8_t& entry(uint64_t place) { return entries_[place / kUnitBytes]; }

  uint8_t* entries_ = nullptr;
  uint8_t* samples_ = nullptr;
};

// Adds up the pages of a region, in order, as it is unloaded.
class UseRecorder {
 public:
  UseRecorder(UseHistory& history, RewritePredictor& predictor, uint64_t place, const Pages& pages, bool looks_again)
      : history_(history),
        predictor_(predictor),
        looks_again_(looks_again),
        block_(pages.begin),
        at_(pages.begin),
        end_(pages.end()),
        place_(place - pages.begin) {}
  ~UseRecorder() {
    for (uint8_t past = 0; past < RewritePredictor::kPasts; ++past)
      if (votes_[past] != 0) predictor_.learn(past, votes_[past] > 0);
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
      const auto [past, was_rewritten] =
          history_.note_unloaded(place_ + block_, block_, block_end - block_, touched_, written_, looks_again_);
      votes_[past] += was_rewritten ? 1 : -1;
      block_ = block_end;
      touched_ = written_ = 0;
    }
  }

 private:
  UseHistory& history_;
  RewritePredictor& predictor_;
  bool looks_again_;
  uint64_t block_;  // addresses
  uint64_t at_;
  uint64_t end_;
  uint64_t place_;  // to be added to an address, modulo 2^64
  uint64_t touched_ = 0;
  uint64_t written_ = 0;
  int64_t votes_[RewritePredictor::kPasts] = {};  // of blocks with the same past: how many more were rewritten than not
};

}  // namespace spillway::memory
