// The different columns of a row while they are drawn, each with the number of times: a hash table of fixed size.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "csr_format.h"

namespace apps::matrix {

class ColumnCounts {
 public:
  // For up to `capacity` different columns.
  explicit ColumnCounts(uint64_t capacity)
      : slots_(std::bit_ceil(2 * capacity + 2), {0, 0}), shift_(64 - std::countr_zero(slots_.size())) {}

  // The number of different columns.
  [[nodiscard]] uint64_t size() const { return size_; }

  void add(uint32_t column) {
    size_t slot = (column * kFibonacciMultiplier) >> shift_;
    while (slots_[slot].count != 0 && slots_[slot].column != column) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    size_ += slots_[slot].count == 0 ? 1 : 0;
    slots_[slot].column = column;
    ++slots_[slot].count;
  }

  // Writes all size() columns in ascending order, with their counts as values.
  void sort_into(std::span<MatrixEntry> into) const {
    auto next = into.begin();
    for (const Slot& slot : slots_) {
      if (slot.count != 0) {
        *next++ = {slot.column, static_cast<float>(slot.count)};
      }
    }
    std::sort(into.begin(), into.end(),
              [](const MatrixEntry& left, const MatrixEntry& right) { return left.column < right.column; });
  }

 private:
  static constexpr uint64_t kFibonacciMultiplier = 0x9e3779b97f4a7c15;

  struct Slot {
    uint32_t column;
    uint32_t count;  // 0: the slot is empty
  };

  std::vector<Slot> slots_;
  int shift_;
  uint64_t size_ = 0;
};

}  // namespace apps::matrix
