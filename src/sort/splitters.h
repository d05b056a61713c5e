// Which bucket a record is of: buckets are ranges of keys that take about the same room, found by samples. Records
// with equal keys are told apart by where they are in the input, so that many of them are several buckets; but not
// where only one of them comes out: then those of a key that is the first one of its bucket need not be kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sort/record_layout.h"

namespace spillway::sort {

struct Sample {
  uint64_t position;  // among all bytes
  std::string_view key;
  // Of the records that it stands for: what they take in a bucket, and in memory with their index. A bucket has about
  // its part of that of which it has more.
  double bytes;
  double footprint;
};

class Splitters {
 public:
  // `layout` stays.
  Splitters(const RecordLayout& layout, std::vector<Sample> samples, uint64_t bucket_count);
  Splitters(Splitters&&) = default;
  Splitters(const Splitters&) = delete;
  Splitters& operator=(const Splitters&) = delete;
  Splitters& operator=(Splitters&&) = delete;
  ~Splitters() = default;

  // Buckets are numbered in the order of their keys.
  uint32_t bucket_of(uint64_t prefix, std::string_view key, uint64_t position) const {
    const uint64_t* first = prefixes_.data();
    for (size_t count = prefixes_.size(); count > 1;) {
      const size_t half = count / 2;
      first += first[half - 1] < prefix ? half : 0;
      count -= half;
    }
    const auto at = static_cast<size_t>(first - prefixes_.data());
    if (prefixes_[at] != prefix) [[likely]]  // above it
      return static_cast<uint32_t>(at);
    return bucket_among_equals(at, key, position);
  }

  // The first one that a bucket may have. REQUIRES: it is not the first bucket, and is_first_of() has been true of it.
  std::string_view first_key(uint32_t bucket) const { return splitters_[bucket - 1].key; }
  // Whether the key is that one.
  bool is_first_of(uint32_t bucket, uint64_t prefix, std::string_view key) const {
    return bucket != 0 && bucket <= splitters_.size() && prefixes_[bucket - 1] == prefix &&
           layout_.order().compare_further(splitters_[bucket - 1].key, key) == 0;
  }

 private:
  struct Splitter {
    uint64_t position;
    std::string key;
  };
  uint32_t bucket_among_equals(size_t first, std::string_view key, uint64_t position) const;

  const RecordLayout& layout_;
  std::vector<uint64_t> prefixes_;  // of the first record of each bucket but the first, and the greatest number behind
  std::vector<Splitter> splitters_;
};

}  // namespace spillway::sort
