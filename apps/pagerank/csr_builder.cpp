#include "csr_builder.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace pagerank {

namespace {

struct SortedRows {
  std::vector<uint64_t> offsets;  // relative to the bucket's first edge; one more than rows
  LargeArray<uint32_t> columns;
  uint64_t edge_count = 0;
};

// Groups by row with a counting sort, then sorts each row and drops repetitions, moving the rows together.
SortedRows sort_bucket(const LargeArray<Edge>& edges, uint64_t first_row, uint64_t last_row) {
  SortedRows rows{std::vector<uint64_t>(last_row - first_row + 1, 0), LargeArray<uint32_t>(edges.size())};
  for (const Edge& edge : edges) {
    ++rows.offsets[edge.source - first_row + 1];
  }
  for (size_t row = 1; row < rows.offsets.size(); ++row) {
    rows.offsets[row] += rows.offsets[row - 1];
  }
  std::vector<uint64_t> cursors(rows.offsets.begin(), rows.offsets.end() - 1);
  for (const Edge& edge : edges) {
    rows.columns[cursors[edge.source - first_row]++] = edge.target;
  }
  uint32_t* kept = rows.columns.data();
  uint64_t begin = 0;
  for (size_t row = 0; row + 1 < rows.offsets.size(); ++row) {
    const uint64_t end = rows.offsets[row + 1];
    std::sort(&rows.columns[0] + begin, &rows.columns[0] + end);
    kept = std::unique_copy(&rows.columns[0] + begin, &rows.columns[0] + end, kept);
    rows.offsets[row + 1] = kept - rows.columns.data();
    begin = end;
  }
  rows.edge_count = rows.offsets.back();
  return rows;
}

// Hands out buckets in order, and to each in the same order its place in the file, which depends on how many edges are
// left of all buckets before.
class BucketQueue {
 public:
  explicit BucketQueue(size_t bucket_count) : bucket_count_(bucket_count) {}

  // False when there are no more, or another thread has failed.
  bool next_bucket(size_t& bucket) {
    const std::lock_guard lock(mutex_);
    bucket = taken_++;
    return !has_failed_ && bucket < bucket_count_;
  }

  // Waits for the buckets before `bucket`; returns the first edge's place. False: another thread has failed.
  bool place(size_t bucket, uint64_t edge_count, uint64_t& first_edge) {
    std::unique_lock lock(mutex_);
    placed_one_.wait(lock, [&] { return placed_ == bucket || has_failed_; });
    first_edge = edge_count_;
    edge_count_ += edge_count;
    ++placed_;
    placed_one_.notify_all();
    return !has_failed_;
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    placed_one_.notify_all();
  }

  [[nodiscard]] uint64_t edge_count() const { return edge_count_; }

 private:
  const size_t bucket_count_;
  std::mutex mutex_;  // guards all below
  std::condition_variable placed_one_;
  size_t taken_ = 0;
  size_t placed_ = 0;
  uint64_t edge_count_ = 0;
  bool has_failed_ = false;
};

void build_buckets(const EdgeBuckets& buckets, CsrWriter& writer, BucketQueue& queue) {
  const std::vector<uint64_t>& first_rows = buckets.plan().first_rows;
  size_t bucket = 0;
  while (queue.next_bucket(bucket)) {
    SortedRows rows = sort_bucket(buckets.load(bucket), first_rows[bucket], first_rows[bucket + 1]);
    uint64_t first_edge = 0;
    if (!queue.place(bucket, rows.edge_count, first_edge)) {
      return;
    }
    for (uint64_t& offset : rows.offsets) {
      offset += first_edge;
    }
    // The last offset is the next bucket's first: both write the same value.
    writer.write_offsets(first_rows[bucket], rows.offsets);
    writer.write_columns(first_edge, std::span<const uint32_t>(rows.columns).first(rows.edge_count));
  }
}

}  // namespace

uint64_t build_csr(const EdgeBuckets& buckets, CsrWriter& writer, unsigned thread_count) {
  BucketQueue queue(buckets.plan().bucket_count());
  run_threads(thread_count, [&](unsigned) {
    try {
      build_buckets(buckets, writer, queue);
    } catch (...) {
      queue.fail();
      throw;
    }
  });
  return queue.edge_count();
}

void run_threads(unsigned thread_count, const std::function<void(unsigned)>& work) {
  std::vector<std::exception_ptr> failures(thread_count);
  {
    std::vector<std::jthread> threads;
    for (unsigned index = 0; index < thread_count; ++index) {
      threads.emplace_back([&, index] {
        try {
          work(index);
        } catch (...) {
          failures[index] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

}  // namespace pagerank
