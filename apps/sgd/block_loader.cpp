#include "block_loader.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>

#include "matrix_rows.h"

namespace apps::sgd {

namespace {

// Takes the block's entries row by row.
class BlockFiller {
 public:
  explicit BlockFiller(Block& block) : block_(block) {
    if (order() == Order::rows) {
      block_.offsets()[0] = 0;
    }
  }

  [[nodiscard]] bool is_full() const { return filled_ == block_.shape().entry_count; }

  // REQUIRES: not full, and no row before that of the last call.
  void add(const Rating& rating) {
    if (order() == Order::elements) {
      block_.ratings()[filled_] = rating;
    } else {
      end_rows_before(rating.row);
      block_.entries()[filled_] = {rating.column, rating.value};
    }
    ++filled_;
  }

  void finish() {
    if (order() == Order::rows) {
      end_rows_before(block_.shape().row_count);
    }
  }

 private:
  [[nodiscard]] Order order() const { return block_.shape().order; }

  void end_rows_before(uint64_t row) {
    const std::span<uint32_t> offsets = block_.offsets();
    while (row_ < row) {
      offsets[++row_] = static_cast<uint32_t>(filled_);
    }
  }

  Block& block_;
  uint64_t filled_ = 0;
  uint64_t row_ = 0;
};

}  // namespace

Block load_block(const CsrReader& matrix, const BlockGrid& grid, uint64_t row_part, uint64_t column_part, Order order,
                 uint64_t entry_count) {
  if (entry_count > kMaxBlockEntries) {
    throw std::runtime_error("block " + std::to_string(row_part) + ", " + std::to_string(column_part) + " of " +
                             matrix.path() + " has " + std::to_string(entry_count) + " entries, at most " +
                             std::to_string(kMaxBlockEntries) + " are possible; cut the matrix into more blocks");
  }
  const uint64_t first_row = grid.first_rows[row_part];
  const uint64_t first_column = grid.first_columns[column_part];
  const uint64_t column_count = grid.column_count(column_part);
  Block block({order, grid.row_count(row_part), entry_count});
  BlockFiller filler(block);
  const std::runtime_error changed("matrix file " + matrix.path() + " has changed while it was read; run again");
  visit_rows(matrix, first_row, grid.first_rows[row_part + 1], [&](uint64_t row, std::span<const MatrixEntry> entries) {
    for (const MatrixEntry& entry : entries) {
      const uint64_t column = entry.column - first_column;  // before the first: wraps to a large number
      if (column < column_count) {
        if (filler.is_full()) {
          throw changed;
        }
        filler.add({static_cast<uint32_t>(row - first_row), static_cast<uint32_t>(column), entry.value});
      }
    }
  });
  if (!filler.is_full()) {
    throw changed;
  }
  filler.finish();
  return block;
}

}  // namespace apps::sgd
