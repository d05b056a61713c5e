// Matrix Market files: coordinate; pattern, real or integer; general or symmetric. They are read front to back without
// being stored. What is wrong with one is thrown with file, line and cause.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text_lines.h"

namespace apps {

// A file whose first line starts with "%%MatrixMarket" is one.
bool is_matrix_market(const std::string& path);

class MatrixMarketReader {
 public:
  struct Entry {
    uint64_t row;  // counted from 0, as is the column
    uint64_t column;
    std::string_view value;  // the text, which may be no number; empty in a pattern; valid until the next call
  };

  // Reads as far as the line of sizes. The names are for messages.
  MatrixMarketReader(const std::string& path, const IndexName& row_name, const IndexName& column_name);

  [[nodiscard]] uint64_t row_count() const { return row_count_; }
  [[nodiscard]] uint64_t column_count() const { return column_count_; }
  // False for a pattern.
  [[nodiscard]] bool has_values() const { return has_values_; }
  // An entry (i, j) of a symmetric matrix, which is square, stands for (j, i) too.
  [[nodiscard]] bool is_symmetric() const { return is_symmetric_; }

  // The next entry; false at the end. Rejects a file that has not as many entries as it says.
  bool next(Entry& entry);

  // For messages about what has just been read.
  [[nodiscard]] const LineReader& lines() const { return lines_; }

 private:
  void read_banner();
  void read_sizes();

  LineReader lines_;
  IndexName row_name_;
  IndexName column_name_;
  bool has_values_ = false;
  bool is_symmetric_ = false;
  uint64_t row_count_ = 0;
  uint64_t column_count_ = 0;
  uint64_t entry_count_ = 0;
  uint64_t entries_read_ = 0;
};

}  // namespace apps
