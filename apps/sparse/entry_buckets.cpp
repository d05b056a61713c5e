#include "entry_buckets.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "scratch_file.h"

namespace apps {

namespace {

// Entries and rows: of a graph with 16 edges for each vertex, as graph-generate makes them, 4 Mi edges.
constexpr uint64_t kBucketWeight = (uint64_t{4} << 20) + (uint64_t{4} << 20) / 16;
constexpr uint64_t kMaxBuckets = 512;

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

}  // namespace

// A bucket ends where the weight of all blocks up to there reaches a multiple of the limit.
template <typename Entry>
BucketPlan<Entry> BucketPlan<Entry>::balanced(uint64_t row_count, const std::vector<uint64_t>& entries_of_block) {
  const uint64_t total = std::accumulate(entries_of_block.begin(), entries_of_block.end(), row_count);
  const uint64_t limit = std::max(kBucketWeight, total / kMaxBuckets + 1);
  BucketPlan plan;
  plan.first_rows.push_back(0);
  uint64_t weight = 0;
  uint64_t bucket_end = limit;
  for (size_t block = 0; block < entries_of_block.size(); ++block) {
    if (weight >= bucket_end) {
      plan.first_rows.push_back(uint64_t{block} << kRowBlockBits);
      bucket_end = (weight / limit + 1) * limit;
    }
    weight += entries_of_block[block] + (uint64_t{1} << kRowBlockBits);
    plan.bucket_of_block.push_back(plan.first_rows.size() - 1);
  }
  plan.first_rows.push_back(row_count);
  return plan;
}

template <typename Entry>
BucketPlan<Entry> RowBlockCounts<Entry>::plan(uint64_t row_count) {
  constexpr unsigned kBits = BucketPlan<Entry>::kRowBlockBits;
  entries_of_block_.resize((row_count + (uint64_t{1} << kBits) - 1) >> kBits);
  return BucketPlan<Entry>::balanced(row_count, entries_of_block_);
}

template <typename Entry>
EntryBuckets<Entry>::EntryBuckets(BucketPlan<Entry> plan, const std::string& near_path)
    : plan_(std::move(plan)), scratch_(open_scratch(directory_of(near_path))), extents_(plan_.bucket_count()) {}

template <typename Entry>
LargeArray<PlacedEntry<Entry>> EntryBuckets<Entry>::load(size_t bucket) const {
  constexpr size_t kEntryBytes = sizeof(PlacedEntry<Entry>);
  uint64_t entry_count = 0;
  for (const Extent& extent : extents_[bucket]) {
    entry_count += extent.entry_count;
  }
  LargeArray<PlacedEntry<Entry>> entries(entry_count);
  PlacedEntry<Entry>* into = entries.data();
  for (const Extent& extent : extents_[bucket]) {
    scratch_.read_at(extent.position * kEntryBytes, into, extent.entry_count * kEntryBytes);
    into += extent.entry_count;
  }
  return entries;
}

template <typename Entry>
EntryBuckets<Entry>::Appender::Appender(EntryBuckets& buckets)
    : buckets_(buckets),
      buffers_(buckets.plan_.bucket_count() * kBufferedEntries),
      fill_(buckets.plan_.bucket_count(), 0) {}

template <typename Entry>
void EntryBuckets<Entry>::Appender::flush() {
  for (size_t bucket = 0; bucket < fill_.size(); ++bucket) {
    flush(bucket);
  }
}

template <typename Entry>
void EntryBuckets<Entry>::Appender::flush(size_t bucket) {
  constexpr size_t kEntryBytes = sizeof(PlacedEntry<Entry>);
  const uint32_t entry_count = std::exchange(fill_[bucket], 0);
  if (entry_count == 0) {
    return;
  }
  uint64_t position = 0;
  {
    const std::lock_guard lock(buckets_.mutex_);
    position = buckets_.scratch_entries_;
    buckets_.scratch_entries_ += entry_count;
    buckets_.extents_[bucket].push_back({position, entry_count});
  }
  try {
    buckets_.scratch_.write_at(position * kEntryBytes, buffers_.data() + bucket * kBufferedEntries,
                               entry_count * kEntryBytes);
  } catch (const std::system_error& error) {
    throw std::runtime_error(std::string("scratch file: ") + error.what() +
                             "; free space there, or have the output elsewhere");
  }
}

template struct BucketPlan<uint32_t>;
template struct BucketPlan<MatrixEntry>;
template class RowBlockCounts<uint32_t>;
template class RowBlockCounts<MatrixEntry>;
template class EntryBuckets<uint32_t>;
template class EntryBuckets<MatrixEntry>;

}  // namespace apps
