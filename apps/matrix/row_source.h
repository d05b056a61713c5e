// Matrices whose rows are made at random, each from the seed and its own number only: on one machine any number of
// threads makes the same matrix, and nothing is stored but the rows that are being made.
#pragma once

#include <cstdint>
#include <span>

#include "csr_file.h"
#include "csr_format.h"

namespace apps::matrix {

class RowSource {
 public:
  virtual ~RowSource() = default;
  // The number of entries of a row.
  [[nodiscard]] virtual uint64_t length_of(uint64_t row) const = 0;
  // Writes the row's entries, length_of(row) of them, in ascending order of different columns.
  virtual void make_row(uint64_t row, std::span<MatrixEntry> into) const = 0;
};

// Writes all rows of the writer's shape; returns the number of entries. Each thread holds a block of rows with, on
// average, 256 Ki entries, or one longer row.
uint64_t write_rows(const RowSource& source, uint64_t mean_length, const CsrWriter& writer, unsigned thread_count);

}  // namespace apps::matrix
