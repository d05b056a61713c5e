// Rows that are read once and held.
#pragma once

#include <cstdint>
#include <span>

#include "csr_file.h"
#include "large_array.h"
#include "row_source.h"

namespace apps::kmeans {

class RowsInMemory : public RowSource {
 public:
  // Reads rows first_row, ...; throws what reading throws.
  RowsInMemory(const CsrReader& matrix, uint64_t first_row, uint64_t row_count);

  void sweep(const RowVisitor& visit) override;
  [[nodiscard]] uint64_t bytes() const override { return offsets_.size_bytes() + entries_.size_bytes(); }

 protected:
  [[nodiscard]] std::span<const MatrixEntry> entries() const { return entries_; }

 private:
  LargeArray<uint64_t> offsets_;  // in the file, by row, and one more
  LargeArray<MatrixEntry> entries_;
};

// The same for whoever does not want to leave it to Spillway when rows are loaded: all of a rank's rows come in before
// it begins to compute, in large reads. What Spillway needs room for it may unload at any time after, which costs
// nothing, as rows do not change; to unload them here would only make a job with enough memory read them again. There
// is nothing to discard either: whatever an iteration overwrites is freed in it. Without Spillway the call does
// nothing.
class ControlledRows : public RowsInMemory {
 public:
  using RowsInMemory::RowsInMemory;
  void sweep(const RowVisitor& visit) override;
};

}  // namespace apps::kmeans
