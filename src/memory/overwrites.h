// Memory that operations under way overwrite: what it holds need not be brought back, and often not even be kept
// (SBMA 3.4, discard).
//
// An entry is `whole` if every byte of it is going to be overwritten, as in a broadcast. It is not if that is only
// likely: a message may be shorter than the buffer that waits for it.
//
// Changed and asked by one thread at a time, the one that holds the rank's CallLock. Asking allocates nothing.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

#include "memory/pages.h"

namespace spillway::memory {

class Overwrites {
 public:
  static constexpr uint64_t kLeastBytes = 256 << 10;  // less is not worth an entry

  Overwrites() = default;
  Overwrites(const Overwrites&) = delete;
  Overwrites& operator=(const Overwrites&) = delete;

  bool overlap(uint64_t begin, uint64_t end) const {
    const auto at = entries_.lower_bound(end);
    return at != entries_.begin() && std::prev(at)->second.end > begin;
  }

  // The end of the part, from `begin` on, in which every page is overwritten whole, or none is: `is_whole` tells which.
  uint64_t end_of_part(uint64_t begin, uint64_t end, bool& is_whole) const {
    auto at = entries_.upper_bound(begin);
    is_whole = false;
    if (at != entries_.begin()) {
      const Entry& entry = std::prev(at)->second;
      is_whole = entry.is_whole && entry.end > begin;
      if (is_whole) return entry.end < end ? entry.end : end;
    }
    while (at != entries_.end() && at->first < end && !at->second.is_whole) ++at;
    return at != entries_.end() && at->first < end ? at->first : end;
  }

 private:
  friend class Overwrite;

  struct Entry {
    uint64_t end;
    bool is_whole;
  };

  std::map<uint64_t, Entry> entries_;  // whole pages, by their begin
};

// An entry, for as long as this lives.
class Overwrite {
 public:
  Overwrite() = default;
  Overwrite(Overwrites& all, const void* address, uint64_t bytes, bool is_whole) {
    const Pages pages = pages_within(address, bytes);
    if (pages.bytes >= Overwrites::kLeastBytes &&
        all.entries_.emplace(pages.begin, Overwrites::Entry{pages.end(), is_whole}).second) {
      all_ = &all;
      begin_ = pages.begin;
    }
  }
  Overwrite(Overwrite&& other) noexcept : all_(std::exchange(other.all_, nullptr)), begin_(other.begin_) {}
  Overwrite& operator=(Overwrite&& other) noexcept {
    std::swap(all_, other.all_);
    std::swap(begin_, other.begin_);
    return *this;
  }
  explicit operator bool() const { return all_ != nullptr; }
  ~Overwrite() {
    if (all_ != nullptr) all_->entries_.erase(begin_);
  }

 private:
  Overwrites* all_ = nullptr;
  uint64_t begin_ = 0;
};

}  // namespace spillway::memory
