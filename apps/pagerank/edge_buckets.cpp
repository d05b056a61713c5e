#include "edge_buckets.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <system_error>
#include <utility>

namespace pagerank {

namespace {

constexpr uint64_t kBucketEdges = uint64_t{4} << 20;
constexpr uint64_t kMaxBuckets = 512;

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

// A file without a name; where the file system has no such thing, one whose name is removed at once.
File open_scratch(const std::string& near_path) {
  try {
    return File(directory_of(near_path), O_TMPFILE | O_RDWR, 0600);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::operation_not_supported && error.code() != std::errc::is_a_directory &&
        error.code() != std::errc::invalid_argument) {
      throw;
    }
  }
  const std::string path = near_path + ".scratch";
  File file(path, O_RDWR | O_CREAT | O_EXCL, 0600);
  ::unlink(path.c_str());
  return file;
}

}  // namespace

BucketPlan BucketPlan::balanced(uint64_t vertex_count, const std::vector<uint64_t>& edges_of_block) {
  const uint64_t total = std::accumulate(edges_of_block.begin(), edges_of_block.end(), uint64_t{0});
  const uint64_t limit = std::max(kBucketEdges, total / kMaxBuckets);
  BucketPlan plan;
  plan.first_rows.push_back(0);
  uint64_t filled = 0;
  for (size_t block = 0; block < edges_of_block.size(); ++block) {
    if (filled > 0 && filled + edges_of_block[block] > limit) {
      plan.first_rows.push_back(uint64_t{block} << kRowBlockBits);
      filled = 0;
    }
    filled += edges_of_block[block];
    plan.bucket_of_block.push_back(plan.first_rows.size() - 1);
  }
  plan.first_rows.push_back(vertex_count);
  return plan;
}

EdgeBuckets::EdgeBuckets(BucketPlan plan, const std::string& near_path)
    : plan_(std::move(plan)), scratch_(open_scratch(near_path)), extents_(plan_.bucket_count()) {}

LargeArray<Edge> EdgeBuckets::load(size_t bucket) const {
  uint64_t edge_count = 0;
  for (const Extent& extent : extents_[bucket]) {
    edge_count += extent.edge_count;
  }
  LargeArray<Edge> edges(edge_count);
  Edge* into = edges.data();
  for (const Extent& extent : extents_[bucket]) {
    scratch_.read_at(extent.position * sizeof(Edge), into, extent.edge_count * sizeof(Edge));
    into += extent.edge_count;
  }
  return edges;
}

EdgeBuckets::Appender::Appender(EdgeBuckets& buckets)
    : buckets_(buckets),
      buffers_(buckets.plan_.bucket_count() * kBufferedEdges),
      fill_(buckets.plan_.bucket_count(), 0) {}

void EdgeBuckets::Appender::flush() {
  for (size_t bucket = 0; bucket < fill_.size(); ++bucket) {
    flush(bucket);
  }
}

void EdgeBuckets::Appender::flush(size_t bucket) {
  const uint32_t edge_count = std::exchange(fill_[bucket], 0);
  if (edge_count == 0) {
    return;
  }
  uint64_t position = 0;
  {
    const std::lock_guard lock(buckets_.mutex_);
    position = buckets_.scratch_edges_;
    buckets_.scratch_edges_ += edge_count;
    buckets_.extents_[bucket].push_back({position, edge_count});
  }
  buckets_.scratch_.write_at(position * sizeof(Edge), buffers_.data() + bucket * kBufferedEdges,
                             edge_count * sizeof(Edge));
}

}  // namespace pagerank
