// Entries of a graph or matrix on their way to compressed sparse rows, sorted into buckets of consecutive rows that
// each fit in memory, as long as a block of rows does. The buckets live in one scratch file without a name, so memory
// use is bounded and nothing is left behind. Entry is what a row lists, in memory and in the CSR file: uint32_t (a
// graph's columns) or MatrixEntry.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "csr_format.h"
#include "file_io.h"
#include "large_array.h"

namespace apps {

template <typename Entry>
struct PlacedEntry {
  uint32_t row;
  Entry entry;
};
static_assert(sizeof(PlacedEntry<uint32_t>) == 8 && sizeof(PlacedEntry<MatrixEntry>) == 12, "no padding");

template <typename Entry>
struct BucketPlan {
  // Rows are counted in blocks of 2^kRowBlockBits; a bucket is a number of whole blocks. A block of a matrix is small,
  // as it has to fit in memory however long its rows are; that of a graph keeps bucket_of_block in the cache.
  static constexpr unsigned kRowBlockBits = kValueBytes<Entry> == 0 ? 12 : 8;

  // Bucket b has rows [first_rows[b], first_rows[b + 1]).
  std::vector<uint64_t> first_rows;
  std::vector<uint32_t> bucket_of_block;

  [[nodiscard]] size_t bucket_count() const { return first_rows.size() - 1; }

  // Cuts [0, row_count) into buckets of some 4 Mi entries and rows together, or more where that would be over 512
  // buckets, since every thread keeps a buffer for each bucket; a bucket may exceed that by one block. While a bucket
  // is sorted, an entry takes 12 bytes (with a value 20) and a row 16, about the same. entries_of_block says how many
  // entries each row block has.
  static BucketPlan balanced(uint64_t row_count, const std::vector<uint64_t>& entries_of_block);
};

// How many entries each row block has, counted while they are read.
template <typename Entry>
class RowBlockCounts {
 public:
  void add(uint64_t row) {
    const uint64_t block = row >> BucketPlan<Entry>::kRowBlockBits;
    if (block >= entries_of_block_.size()) {
      entries_of_block_.resize(block + 1);
    }
    ++entries_of_block_[block];
  }
  // REQUIRES: no row that has been added is at or beyond row_count.
  BucketPlan<Entry> plan(uint64_t row_count);

 private:
  std::vector<uint64_t> entries_of_block_;
};

template <typename Entry>
class EntryBuckets {
 public:
  // The scratch file is made in the directory of `near_path`.
  EntryBuckets(BucketPlan<Entry> plan, const std::string& near_path);

  [[nodiscard]] const BucketPlan<Entry>& plan() const { return plan_; }
  // All entries of a bucket, in no particular order. Any number of threads may load at the same time.
  [[nodiscard]] LargeArray<PlacedEntry<Entry>> load(size_t bucket) const;

  // One per thread; flush() must be called before it is destroyed.
  class Appender {
   public:
    explicit Appender(EntryBuckets& buckets);
    void append(PlacedEntry<Entry> entry) {
      const uint32_t bucket = buckets_.plan_.bucket_of_block[entry.row >> BucketPlan<Entry>::kRowBlockBits];
      PlacedEntry<Entry>* buffer = buffers_.data() + size_t{bucket} * kBufferedEntries;
      buffer[fill_[bucket]] = entry;
      if (++fill_[bucket] == kBufferedEntries) {
        flush(bucket);
      }
    }
    void flush();

   private:
    static constexpr uint32_t kBufferedEntries = 8192;  // 64 or 96 KiB: one write of the scratch file
    void flush(size_t bucket);

    EntryBuckets& buckets_;
    LargeArray<PlacedEntry<Entry>> buffers_;
    std::vector<uint32_t> fill_;
  };

 private:
  struct Extent {
    uint64_t position;  // in entries from the start of the scratch file
    uint32_t entry_count;
  };

  BucketPlan<Entry> plan_;
  File scratch_;
  std::mutex mutex_;  // guards the two below while appenders are at work
  std::vector<std::vector<Extent>> extents_;
  uint64_t scratch_entries_ = 0;
};

}  // namespace apps
