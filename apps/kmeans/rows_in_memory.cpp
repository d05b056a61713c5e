#include "rows_in_memory.h"

#include <spillway/spillway.h>

#include "unit_row.h"

namespace apps::kmeans {

RowsInMemory::RowsInMemory(const CsrReader& matrix, uint64_t first_row, uint64_t row_count) : offsets_(row_count + 1) {
  matrix.read_offsets(first_row, offsets_);
  matrix.check_offsets(first_row, offsets_);
  entries_ = LargeArray<MatrixEntry>(offsets_[row_count] - offsets_[0]);
  matrix.read_entries<MatrixEntry>(offsets_[0], entries_);
  const std::span<MatrixEntry> all(entries_);
  for (uint64_t row = 0; row < row_count; ++row) {
    make_unit(matrix, first_row + row, offsets_[row],
              all.subspan(offsets_[row] - offsets_[0], offsets_[row + 1] - offsets_[row]));
  }
}

void RowsInMemory::sweep(const RowVisitor& visit) {
  for (uint64_t row = 0; row + 1 < offsets_.size(); ++row) {
    visit(row, entries().subspan(offsets_[row] - offsets_[0], offsets_[row + 1] - offsets_[row]));
  }
}

void ControlledRows::sweep(const RowVisitor& visit) {
  // Small arrays are not managed, and need not be: so whatever it returns.
  static_cast<void>(spillway_load(entries().data(), entries().size_bytes()));
  RowsInMemory::sweep(visit);
}

}  // namespace apps::kmeans
