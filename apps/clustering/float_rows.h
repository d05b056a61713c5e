// Rows of as many floats each, which begin at cache lines and end with zeros up to a whole block, so that loops over
// them need no rest.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace apps::clustering {

class FloatRows {
 public:
  static constexpr size_t kBlock = 32;

  explicit FloatRows(size_t columns, size_t rows = 0)
      : columns_(columns), blocks_of_row_((columns + kBlock - 1) / kBlock), blocks_(rows * blocks_of_row_) {}

  [[nodiscard]] size_t columns() const { return columns_; }
  // Columns with the zeros behind them.
  [[nodiscard]] size_t stride() const { return blocks_of_row_ * kBlock; }
  [[nodiscard]] size_t size() const { return blocks_.size() / blocks_of_row_; }
  [[nodiscard]] const float* operator[](size_t row) const { return blocks_[row * blocks_of_row_].numbers; }
  [[nodiscard]] float* operator[](size_t row) { return blocks_[row * blocks_of_row_].numbers; }

  void reserve(size_t rows) { blocks_.reserve(rows * blocks_of_row_); }
  void shrink_to_fit() { blocks_.shrink_to_fit(); }
  // A row of zeros.
  float* append() {
    blocks_.resize(blocks_.size() + blocks_of_row_);
    return (*this)[size() - 1];
  }

  // Of the columns alone, without zeros.
  [[nodiscard]] std::string bytes() const {
    std::string bytes;
    bytes.reserve(size() * row_bytes());
    for (size_t row = 0; row < size(); ++row) bytes.append(reinterpret_cast<const char*>((*this)[row]), row_bytes());
    return bytes;
  }
  // All rows: what bytes() of rows with as many columns were.
  void take(std::string_view bytes) {
    blocks_.resize(bytes.size() / row_bytes() * blocks_of_row_);
    replace(0, bytes);
  }
  // Some rows, from `first` on.
  void replace(size_t first, std::string_view bytes) {
    for (size_t row = 0; row < bytes.size() / row_bytes(); ++row)
      std::memcpy((*this)[first + row], bytes.data() + row * row_bytes(), row_bytes());
  }

 private:
  struct alignas(64) Block {
    float numbers[kBlock] = {};
  };

  [[nodiscard]] size_t row_bytes() const { return columns_ * sizeof(float); }

  size_t columns_;
  size_t blocks_of_row_;
  std::vector<Block> blocks_;
};

}  // namespace apps::clustering
