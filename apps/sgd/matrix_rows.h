// Visits rows of a matrix file in pieces, so that reading takes 3 MiB of memory whatever their size, and checks what it
// reads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

#include "csr_file.h"
#include "large_array.h"

namespace apps::sgd {

inline void check_values(const CsrReader& matrix, uint64_t first_entry, std::span<const MatrixEntry> entries) {
  const auto wrong = std::find_if(entries.begin(), entries.end(),
                                  [](const MatrixEntry& entry) { return !std::isfinite(entry.value); });
  if (wrong != entries.end()) {
    throw std::runtime_error("matrix file " + matrix.path() + " has the value " + std::to_string(wrong->value) +
                             " in entry " + std::to_string(first_entry + (wrong - entries.begin())) +
                             ", which is no finite number; write it anew with " + kMatrixKind.tools);
  }
}

// Of the rows whose offsets are given.
template <typename Visit>
void visit_entries(const CsrReader& matrix, uint64_t first_row, std::span<const uint64_t> offsets,
                   std::span<MatrixEntry> buffer, const Visit& visit) {
  size_t row = 0;
  for (uint64_t begin = offsets.front(); begin < offsets.back();) {
    const std::span<MatrixEntry> piece = buffer.first(std::min<uint64_t>(buffer.size(), offsets.back() - begin));
    const uint64_t end = begin + piece.size();
    matrix.read_entries(begin, piece);
    matrix.check_columns<MatrixEntry>(begin, piece);
    check_values(matrix, begin, piece);
    for (uint64_t entry = begin; entry < end;) {
      while (offsets[row + 1] <= entry) {
        ++row;
      }
      const uint64_t row_end = std::min(offsets[row + 1], end);
      visit(first_row + row, std::span<const MatrixEntry>(piece.subspan(entry - begin, row_end - entry)));
      entry = row_end;
    }
    begin = end;
  }
}

// Calls visit(row, entries) in order, for a row that crosses pieces several times, for an empty one not at all. Throws
// what CsrReader throws.
template <typename Visit>
void visit_rows(const CsrReader& matrix, uint64_t first_row, uint64_t last_row, const Visit& visit) {
  constexpr uint64_t kPieceRows = uint64_t{1} << 16;
  constexpr uint64_t kPieceEntries = uint64_t{1} << 18;
  LargeArray<uint64_t> offset_buffer(std::min(last_row - first_row, kPieceRows) + 1);
  LargeArray<MatrixEntry> entry_buffer(std::min(matrix.entry_count(), kPieceEntries));
  for (uint64_t row = first_row; row < last_row;) {
    const uint64_t row_count = std::min(last_row - row, kPieceRows);
    const std::span<uint64_t> offsets(offset_buffer.data(), row_count + 1);
    matrix.read_offsets(row, offsets);
    matrix.check_offsets(row, offsets);
    visit_entries(matrix, row, offsets, std::span<MatrixEntry>(entry_buffer), visit);
    row += row_count;
  }
}

}  // namespace apps::sgd
