// Where a rank's rows are, all of which have been read and checked: what an iteration asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "csr_format.h"

namespace apps::kmeans {

// `row` is counted from the first one of those that are visited; `entries` is of unit length, and valid during the
// call.
using RowVisitor = std::function<void(uint64_t row, std::span<const MatrixEntry> entries)>;

class RowSource {
 public:
  RowSource() = default;
  virtual ~RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;

  // Visits all rows in order. Throws what reading a file throws.
  virtual void sweep(const RowVisitor& visit) = 0;
  // False where it reads a file in a file system that refuses O_DIRECT.
  [[nodiscard]] virtual bool is_direct() const { return true; }
  // Of what is in memory between sweeps.
  [[nodiscard]] virtual uint64_t bytes() const = 0;
};

}  // namespace apps::kmeans
