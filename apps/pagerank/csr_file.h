// Reader and writer of the format in csr_format.h. Both throw exceptions whose messages name the file and what is wrong
// with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "csr_format.h"
#include "file_io.h"

namespace pagerank {

class CsrReader {
 public:
  // Checks the header, the size of the file, and the first and last row offset: after this, only offsets that go
  // backwards and columns out of range can be wrong, which check_rows() finds.
  explicit CsrReader(const std::string& path);

  [[nodiscard]] uint64_t vertex_count() const { return header_.vertex_count; }
  [[nodiscard]] uint64_t edge_count() const { return header_.edge_count; }
  [[nodiscard]] const CsrHeader& header() const { return header_; }
  [[nodiscard]] const std::string& path() const { return file_.path(); }

  [[nodiscard]] uint64_t read_offset(uint64_t row) const;
  void read_offsets(uint64_t first_row, std::span<uint64_t> into) const;
  void read_columns(uint64_t first_edge, std::span<uint32_t> into) const;

  // `offsets` are those of rows first_row ... and one more. Throws when they go backwards or beyond edge_count().
  void check_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const;
  // Throws when one of `columns`, which are entries first_edge ..., is not a vertex.
  void check_columns(uint64_t first_edge, std::span<const uint32_t> columns) const;

 private:
  File file_;
  CsrHeader header_;
};

// Writes `path`.partial and renames it to `path` in finish(); a writer that is destroyed before removes what it wrote.
// Different threads may write different parts at the same time.
class CsrWriter {
 public:
  CsrWriter(const std::string& path, uint64_t vertex_count);
  ~CsrWriter();
  CsrWriter(const CsrWriter&) = delete;
  CsrWriter& operator=(const CsrWriter&) = delete;

  void write_offsets(uint64_t first_row, std::span<const uint64_t> offsets) const;
  void write_columns(uint64_t first_edge, std::span<const uint32_t> columns) const;
  void finish(uint64_t edge_count);

 private:
  std::string path_;
  uint64_t vertex_count_;
  File file_;
};

}  // namespace pagerank
