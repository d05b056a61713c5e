#include "row_source.h"

#include <algorithm>
#include <vector>

#include "row_blocks.h"

namespace apps::matrix {

namespace {

constexpr uint64_t kBlockEntries = uint64_t{1} << 18;
constexpr uint64_t kMaxBlockRows = uint64_t{1} << 14;

RowBlock<MatrixEntry> make_block(const RowSource& source, uint64_t first_row, uint64_t last_row) {
  RowBlock<MatrixEntry> rows{first_row, std::vector<uint64_t>{0}, {}};
  for (uint64_t row = first_row; row < last_row; ++row) {
    rows.offsets.push_back(rows.offsets.back() + source.length_of(row));
  }
  rows.entries = LargeArray<MatrixEntry>(rows.offsets.back());
  const std::span entries(rows.entries.data(), rows.entries.size());
  for (uint64_t row = first_row; row < last_row; ++row) {
    const uint64_t begin = rows.offsets[row - first_row];
    source.make_row(row, entries.subspan(begin, rows.offsets[row - first_row + 1] - begin));
  }
  return rows;
}

}  // namespace

uint64_t write_rows(const RowSource& source, uint64_t mean_length, const CsrWriter& writer, unsigned thread_count) {
  const uint64_t row_count = writer.shape().row_count;
  const uint64_t block_rows =
      std::clamp<uint64_t>(kBlockEntries / std::max<uint64_t>(mean_length, 1), 1, kMaxBlockRows);
  const MakeRowBlock<MatrixEntry> make = [&](uint64_t block) {
    return make_block(source, block * block_rows, std::min(row_count, (block + 1) * block_rows));
  };
  return write_row_blocks(writer, (row_count + block_rows - 1) / block_rows, thread_count, make);
}

}  // namespace apps::matrix
