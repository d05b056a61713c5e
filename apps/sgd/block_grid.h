// How the matrix is cut into blocks: rows and columns each into as many consecutive parts, balanced by non-zeros.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csr_file.h"

namespace apps::sgd {

// The first row of each part, and one more, as row_cut.h says. Row offsets that go backwards give parts that are valid,
// if uneven.
std::vector<uint64_t> cut_rows(const CsrReader& matrix, uint64_t part_count);

// Entries of some rows by column. Columns are counted in groups of 2^k, with the least k that makes it 65536 groups at
// most: that cuts finely enough, and is small beside any data.
class ColumnCounts {
 public:
  explicit ColumnCounts(uint64_t column_count);

  // Counts the entries of rows [first_row, last_row), which it reads and checks.
  void add_rows(const CsrReader& matrix, uint64_t first_row, uint64_t last_row);
  void add(const ColumnCounts& other);

  // By group; to sum up those of several ranks.
  [[nodiscard]] std::span<uint64_t> groups() { return groups_; }
  // The first column of each part, and one more: at borders of groups. As with rows, a column counts as an entry.
  [[nodiscard]] std::vector<uint64_t> cut(uint64_t part_count) const;
  // REQUIRES: both are among what a cut() has returned.
  [[nodiscard]] uint64_t entries_between(uint64_t first_column, uint64_t last_column) const;

 private:
  uint64_t column_count_;
  unsigned shift_ = 0;
  std::vector<uint64_t> groups_;
};

struct BlockGrid {
  std::vector<uint64_t> first_rows;     // by part, and one more
  std::vector<uint64_t> first_columns;  // by part, and one more

  [[nodiscard]] uint64_t side() const { return first_rows.size() - 1; }
  [[nodiscard]] uint64_t row_count(uint64_t part) const { return first_rows[part + 1] - first_rows[part]; }
  [[nodiscard]] uint64_t column_count(uint64_t part) const { return first_columns[part + 1] - first_columns[part]; }
};

}  // namespace apps::sgd
