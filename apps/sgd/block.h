// One block of the matrix of ratings: of consecutive rows and columns, which are counted from the block's first.
//
// All of it lies in one stretch of memory, so that it can be read, written, loaded and unloaded as one. What the
// stretch holds depends on the order of traversal:
//   elements   a Rating for each entry: a random one costs one access
//   rows       compressed sparse rows: row_count + 1 offsets, and the entries
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "csr_format.h"

namespace apps::sgd {

enum class Order { elements, rows };

struct Rating {
  uint32_t row;
  uint32_t column;
  float value;
};
static_assert(sizeof(Rating) == 12);

// Both directions are counted with 32 bits, and places in a block too.
inline constexpr uint64_t kMaxBlockEntries = UINT32_MAX;

struct BlockShape {
  Order order = Order::elements;
  uint64_t row_count = 0;
  uint64_t entry_count = 0;  // at most kMaxBlockEntries

  [[nodiscard]] uint64_t entries_position() const;
  // Rounded up to whole pages, for reading and writing directly.
  [[nodiscard]] uint64_t bytes() const;
};

class Block {
 public:
  explicit Block(const BlockShape& shape);

  // Another shape in the same memory. REQUIRES: it needs no more bytes than the first.
  void reshape(const BlockShape& shape) { shape_ = shape; }

  [[nodiscard]] const BlockShape& shape() const { return shape_; }
  [[nodiscard]] std::span<std::byte> bytes() { return {memory_.get(), shape_.bytes()}; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {memory_.get(), shape_.bytes()}; }

  [[nodiscard]] std::span<Rating> ratings() { return at<Rating>(0, shape_.entry_count); }
  [[nodiscard]] std::span<const Rating> ratings() const { return at<Rating>(0, shape_.entry_count); }
  [[nodiscard]] std::span<uint32_t> offsets() { return at<uint32_t>(0, shape_.row_count + 1); }
  [[nodiscard]] std::span<const uint32_t> offsets() const { return at<uint32_t>(0, shape_.row_count + 1); }
  [[nodiscard]] std::span<MatrixEntry> entries() {
    return at<MatrixEntry>(shape_.entries_position(), shape_.entry_count);
  }
  [[nodiscard]] std::span<const MatrixEntry> entries() const {
    return at<MatrixEntry>(shape_.entries_position(), shape_.entry_count);
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  template <typename T>
  [[nodiscard]] std::span<T> at(uint64_t position, uint64_t count) const {
    return {reinterpret_cast<T*>(memory_.get() + position), count};
  }

  BlockShape shape_;
  std::unique_ptr<std::byte[], Free> memory_;
};

}  // namespace apps::sgd
