#include "block_grid.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

#include "matrix_rows.h"
#include "row_cut.h"

namespace apps::sgd {

namespace {

constexpr int kMaxGroupBits = 16;

}  // namespace

std::vector<uint64_t> cut_rows(const CsrReader& matrix, uint64_t part_count) {
  std::vector<uint64_t> first_rows(part_count + 1, 0);
  for (uint64_t part = 1; part < part_count; ++part) {
    first_rows[part] = std::max(first_rows[part - 1], first_row_of_part(matrix, part, part_count));
  }
  first_rows.back() = matrix.row_count();
  return first_rows;
}

ColumnCounts::ColumnCounts(uint64_t column_count) : column_count_(column_count) {
  if (column_count > 0) {
    shift_ = std::max(0, static_cast<int>(std::bit_width(column_count - 1)) - kMaxGroupBits);
    groups_.resize(((column_count - 1) >> shift_) + 1);
  }
}

void ColumnCounts::add_rows(const CsrReader& matrix, uint64_t first_row, uint64_t last_row) {
  visit_rows(matrix, first_row, last_row, [this](uint64_t, std::span<const MatrixEntry> entries) {
    for (const MatrixEntry& entry : entries) {
      ++groups_[entry.column >> shift_];
    }
  });
}

void ColumnCounts::add(const ColumnCounts& other) {
  std::transform(groups_.begin(), groups_.end(), other.groups_.begin(), groups_.begin(), std::plus<>());
}

std::vector<uint64_t> ColumnCounts::cut(uint64_t part_count) const {
  const uint64_t total = std::accumulate(groups_.begin(), groups_.end(), column_count_);
  std::vector<uint64_t> first_columns(part_count + 1, 0);
  uint64_t group = 0;
  uint64_t column = 0;
  uint64_t entries = 0;
  for (uint64_t part = 1; part < part_count; ++part) {
    const uint64_t weight = weight_before(part, part_count, total);
    while (entries + column < weight) {
      entries += groups_[group++];
      column = std::min(group << shift_, column_count_);
    }
    first_columns[part] = column;
  }
  first_columns.back() = column_count_;
  return first_columns;
}

uint64_t ColumnCounts::entries_between(uint64_t first_column, uint64_t last_column) const {
  const uint64_t round_up = (uint64_t{1} << shift_) - 1;
  return std::accumulate(groups_.begin() + ((first_column + round_up) >> shift_),
                         groups_.begin() + ((last_column + round_up) >> shift_), uint64_t{0});
}

}  // namespace apps::sgd
