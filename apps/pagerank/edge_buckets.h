// Edges on their way to compressed sparse rows, sorted into buckets of consecutive rows that each fit in memory. The
// buckets live in one scratch file without a name, so memory use is bounded and nothing is left behind.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "file_io.h"
#include "large_array.h"

namespace pagerank {

struct Edge {
  uint32_t source;
  uint32_t target;
};

// Rows are counted in blocks of 2^kRowBlockBits; a bucket is a number of whole blocks.
inline constexpr unsigned kRowBlockBits = 12;

struct BucketPlan {
  // Bucket b has rows [first_rows[b], first_rows[b + 1]).
  std::vector<uint64_t> first_rows;
  std::vector<uint32_t> bucket_of_block;

  [[nodiscard]] size_t bucket_count() const { return first_rows.size() - 1; }

  // Cuts [0, vertex_count) into buckets of some 4 Mi edges (32 MiB), or more where that would be over 512 buckets,
  // since every thread keeps a buffer for each bucket. edges_of_block says how many edges start in each row block.
  static BucketPlan balanced(uint64_t vertex_count, const std::vector<uint64_t>& edges_of_block);
};

class EdgeBuckets {
 public:
  // The scratch file is made in the directory of `near_path`.
  EdgeBuckets(BucketPlan plan, const std::string& near_path);

  [[nodiscard]] const BucketPlan& plan() const { return plan_; }
  // All edges of a bucket, in no particular order. Any number of threads may load at the same time.
  [[nodiscard]] LargeArray<Edge> load(size_t bucket) const;

  // One per thread; flush() must be called before it is destroyed.
  class Appender {
   public:
    explicit Appender(EdgeBuckets& buckets);
    void append(Edge edge) {
      const uint32_t bucket = buckets_.plan_.bucket_of_block[edge.source >> kRowBlockBits];
      Edge* buffer = buffers_.data() + size_t{bucket} * kBufferedEdges;
      buffer[fill_[bucket]] = edge;
      if (++fill_[bucket] == kBufferedEdges) {
        flush(bucket);
      }
    }
    void flush();

   private:
    static constexpr uint32_t kBufferedEdges = 8192;  // 64 KiB: one write of the scratch file
    void flush(size_t bucket);

    EdgeBuckets& buckets_;
    LargeArray<Edge> buffers_;
    std::vector<uint32_t> fill_;
  };

 private:
  struct Extent {
    uint64_t position;  // in edges from the start of the scratch file
    uint32_t edge_count;
  };

  BucketPlan plan_;
  File scratch_;
  std::mutex mutex_;  // guards the two below while appenders are at work
  std::vector<std::vector<Extent>> extents_;
  uint64_t scratch_edges_ = 0;
};

}  // namespace pagerank
