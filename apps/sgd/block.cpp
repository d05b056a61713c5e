#include "block.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace apps::sgd {

namespace {

constexpr uint64_t kPageBytes = 4096;

uint64_t round_up(uint64_t bytes, uint64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

uint64_t BlockShape::entries_position() const {
  return order == Order::elements ? 0 : round_up((row_count + 1) * sizeof(uint32_t), alignof(uint64_t));
}

uint64_t BlockShape::bytes() const {
  const uint64_t entry_bytes = order == Order::elements ? sizeof(Rating) : sizeof(MatrixEntry);
  return round_up(entries_position() + entry_count * entry_bytes, kPageBytes);
}

void Block::Free::operator()(std::byte* memory) const { std::free(memory); }

Block::Block(const BlockShape& shape) : shape_(shape) {
  const uint64_t bytes = std::max(shape.bytes(), kPageBytes);
  memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
  if (memory_ == nullptr) {
    throw std::bad_alloc();
  }
  // Only advice: random access needs huge pages, as one entry of the page table then covers 512 times as much.
  static_cast<void>(::madvise(memory_.get(), bytes, MADV_HUGEPAGE));
  // The last page is written as a whole, also where it is not filled.
  std::memset(memory_.get() + bytes - kPageBytes, 0, kPageBytes);
}

}  // namespace apps::sgd
