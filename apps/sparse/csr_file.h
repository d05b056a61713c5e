// Reader and writer of the format in csr_format.h. Both throw exceptions whose messages name the file and what is wrong
// with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "csr_format.h"
#include "file_io.h"
#include "partial_file.h"

namespace apps {

// What a program expects a file to hold, and its words for it.
struct CsrKind {
  const char* noun;
  const char* tools;  // that write it
  uint32_t value_bytes;
  bool is_square;
};
inline constexpr CsrKind kGraphKind = {"graph", "graph-convert or graph-generate", 0, true};
inline constexpr CsrKind kMatrixKind = {"matrix", "matrix-convert or matrix-generate", sizeof(float), false};

class CsrReader {
 public:
  // Checks the header, the size of the file, and the first and last row offset: after this, only offsets that go
  // backwards and columns out of range can be wrong, which check_offsets() and check_columns() find.
  CsrReader(const std::string& path, const CsrKind& kind);

  [[nodiscard]] uint64_t row_count() const { return header_.row_count; }
  [[nodiscard]] uint64_t column_count() const { return header_.column_count; }
  [[nodiscard]] uint64_t entry_count() const { return header_.entry_count; }
  [[nodiscard]] const CsrHeader& header() const { return header_; }
  [[nodiscard]] const std::string& path() const { return file_.path(); }

  [[nodiscard]] uint64_t read_offset(uint64_t row) const;
  void read_offsets(uint64_t first_row, std::span<uint64_t> into) const;
  // REQUIRES: Entry is the kind's, uint32_t or MatrixEntry.
  template <typename Entry>
  void read_entries(uint64_t first_entry, std::span<Entry> into) const {
    file_.read_at(header_.entries_position + first_entry * sizeof(Entry), into.data(), into.size_bytes());
  }

  // `offsets` are those of rows first_row ... and one more. Throws when they go backwards or beyond entry_count().
  void check_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const;
  // Throws when one of `entries`, which are the file's first_entry ..., has a column out of range.
  template <typename Entry>
  void check_columns(uint64_t first_entry, std::span<const Entry> entries) const {
    uint32_t largest = 0;  // without an early exit the loop is vectorized
    for (const Entry& entry : entries) {
      largest = std::max(largest, column_of(entry));
    }
    if (entries.empty() || largest < column_count()) {
      return;
    }
    const auto wrong =
        std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return column_of(entry) == largest; });
    reject_column(largest, first_entry + static_cast<uint64_t>(wrong - entries.begin()));
  }

 private:
  [[noreturn]] void reject_column(uint32_t column, uint64_t entry) const;

  const CsrKind& kind_;
  File file_;
  CsrHeader header_;
};

// Of a file that is a partial one until finish().
// Different threads may write different parts at the same time.
class CsrWriter {
 public:
  CsrWriter(const std::string& path, const CsrShape& shape);

  void write_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const;
  // REQUIRES: Entry has the shape's values.
  template <typename Entry>
  void write_entries(uint64_t first_entry, std::span<const Entry> entries) const {
    file_.file().write_at(entries_position_of(shape_.row_count) + first_entry * sizeof(Entry), entries.data(),
                          entries.size_bytes());
  }
  // What has been written before.
  void read_offsets(uint64_t first_row, std::span<uint64_t> into) const;
  template <typename Entry>
  void read_entries(uint64_t first_entry, std::span<Entry> into) const {
    file_.file().read_at(entries_position_of(shape_.row_count) + first_entry * sizeof(Entry), into.data(),
                         into.size_bytes());
  }
  void finish(uint64_t entry_count);
  // Throws, as the value that was made for this place is not finite.
  [[noreturn]] void reject_value(const char* what, uint64_t row, uint32_t column) const;

  [[nodiscard]] const CsrShape& shape() const { return shape_; }

 private:
  std::string path_;
  CsrShape shape_;
  PartialFile file_;
};

}  // namespace apps
