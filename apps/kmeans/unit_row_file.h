// Rows of unit length, made once, in a scratch file that each sweep reads front to back while a thread reads ahead. The
// beginning may stay in memory instead.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "csr_file.h"
#include "direct_stream.h"
#include "large_array.h"
#include "row_source.h"
#include "scratch_file.h"

namespace apps::kmeans {

// Row after row: the number of its entries, in the place of an entry, and the entries.
class UnitRowFile {
 public:
  // Of the matrix's rows first_row, ..., the first `kept_bytes` in memory, the others in the file. Throws what reading,
  // checking and writing them throws.
  UnitRowFile(const CsrReader& matrix, uint64_t first_row, uint64_t row_count, const std::string& scratch_directory,
              uint64_t kept_bytes = 0);

  [[nodiscard]] uint64_t row_count() const { return row_count_; }
  [[nodiscard]] std::span<const MatrixEntry> kept() const { return {kept_.data(), kept_count_}; }
  // What is behind kept().
  [[nodiscard]] const ScratchFile& file() const { return file_; }
  [[nodiscard]] uint64_t file_bytes() const { return file_bytes_; }
  // False where the file system refuses O_DIRECT and the page cache is used.
  [[nodiscard]] bool is_direct() const { return file_.is_direct(); }

 private:
  void append(std::vector<MatrixEntry>& records);

  const uint64_t row_count_;
  ScratchFile file_;
  LargeArray<MatrixEntry> kept_;
  uint64_t kept_count_ = 0;
  uint64_t file_bytes_ = 0;
};

class RowStream {
 public:
  // Reads ahead from one pass into the next. `rows` must outlive it.
  RowStream(const UnitRowFile& rows, uint64_t pass_count);

  // The next pass. Throws what reading throws. REQUIRES: at most pass_count times.
  void sweep(const RowVisitor& visit);

 private:
  // Valid until the next call.
  std::span<const MatrixEntry> take(uint64_t count);
  void read_on();

  const UnitRowFile& rows_;
  DirectStream stream_;
  std::span<const MatrixEntry> pending_;  // what is read and not yet taken
  std::vector<MatrixEntry> row_;          // one that crosses blocks
};

// The paper's `ooc`: between sweeps nothing of the rows is in memory.
class RowsInFile : public RowSource {
 public:
  RowsInFile(const CsrReader& matrix, uint64_t first_row, uint64_t row_count, const std::string& scratch_directory)
      : rows_(matrix, first_row, row_count, scratch_directory) {}

  void sweep(const RowVisitor& visit) override { RowStream(rows_, 1).sweep(visit); }
  [[nodiscard]] bool is_direct() const override { return rows_.is_direct(); }
  [[nodiscard]] uint64_t bytes() const override { return 0; }

 private:
  UnitRowFile rows_;
};

}  // namespace apps::kmeans
