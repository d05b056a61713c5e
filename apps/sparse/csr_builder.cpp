#include "csr_builder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "row_blocks.h"

namespace apps {

namespace {

// Sorts a row, moves what is left of it to `kept`, and returns the end of that.
uint32_t* merge_row(uint32_t* begin, uint32_t* end, uint32_t* kept) {
  std::sort(begin, end);
  return std::unique_copy(begin, end, kept);
}

// By column, then by value, so that sums do not depend on the order in which entries came.
MatrixEntry* merge_row(MatrixEntry* begin, MatrixEntry* end, MatrixEntry* kept) {
  const auto sort_key = [](const MatrixEntry& entry) {
    return uint64_t{entry.column} << 32 | std::bit_cast<uint32_t>(entry.value);
  };
  std::sort(begin, end,
            [&](const MatrixEntry& left, const MatrixEntry& right) { return sort_key(left) < sort_key(right); });
  while (begin != end) {
    const uint32_t column = begin->column;
    double sum = 0;
    for (; begin != end && begin->column == column; ++begin) {
      sum += begin->value;
    }
    *kept++ = {column, static_cast<float>(sum)};
  }
  return kept;
}

void check_sums(const uint32_t* /*begin*/, const uint32_t* /*end*/, uint64_t /*row*/, const CsrWriter& /*writer*/) {}

void check_sums(const MatrixEntry* begin, const MatrixEntry* end, uint64_t row, const CsrWriter& writer) {
  const MatrixEntry* wrong =
      std::find_if(begin, end, [](const MatrixEntry& entry) { return !std::isfinite(entry.value); });
  if (wrong != end) {
    writer.reject_value("the sum of the values", row, wrong->column);
  }
}

// Groups by row with a counting sort, then sorts each row and merges what is in the same column, moving the rows
// together.
template <typename Entry>
RowBlock<Entry> sort_bucket(const LargeArray<PlacedEntry<Entry>>& entries, uint64_t first_row, uint64_t last_row,
                            const CsrWriter& writer) {
  RowBlock<Entry> rows{first_row, std::vector<uint64_t>(last_row - first_row + 1, 0),
                       LargeArray<Entry>(entries.size())};
  for (const PlacedEntry<Entry>& placed : entries) {
    ++rows.offsets[placed.row - first_row + 1];
  }
  for (size_t row = 1; row < rows.offsets.size(); ++row) {
    rows.offsets[row] += rows.offsets[row - 1];
  }
  std::vector<uint64_t> cursors(rows.offsets.begin(), rows.offsets.end() - 1);
  for (const PlacedEntry<Entry>& placed : entries) {
    rows.entries[cursors[placed.row - first_row]++] = placed.entry;
  }
  Entry* const sorted = rows.entries.data();
  Entry* kept = sorted;
  uint64_t begin = 0;
  for (size_t row = 0; row + 1 < rows.offsets.size(); ++row) {
    const uint64_t end = rows.offsets[row + 1];
    Entry* const kept_begin = kept;
    kept = merge_row(sorted + begin, sorted + end, kept);
    check_sums(kept_begin, kept, first_row + row, writer);
    rows.offsets[row + 1] = kept - sorted;
    begin = end;
  }
  return rows;
}

}  // namespace

template <typename Entry>
uint64_t build_csr(const EntryBuckets<Entry>& buckets, const CsrWriter& writer, unsigned thread_count) {
  const std::vector<uint64_t>& first_rows = buckets.plan().first_rows;
  const MakeRowBlock<Entry> make_block = [&](uint64_t bucket) {
    return sort_bucket(buckets.load(bucket), first_rows[bucket], first_rows[bucket + 1], writer);
  };
  return write_row_blocks(writer, buckets.plan().bucket_count(), thread_count, make_block);
}

template uint64_t build_csr(const EntryBuckets<uint32_t>&, const CsrWriter&, unsigned);
template uint64_t build_csr(const EntryBuckets<MatrixEntry>&, const CsrWriter&, unsigned);

}  // namespace apps
