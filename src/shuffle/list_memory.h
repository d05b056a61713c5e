// Memory of a sorted list, from which direct I/O can write it as it is.
#pragma once

#include <cstddef>

#include "shuffle/record_format.h"
#include "shuffle/run_cursor.h"
#include "storage/spill_file.h"

namespace spillway::shuffle {

class ListMemory {
 public:
  char* data() { return memory_.get(); }
  const char* data() const { return memory_.get(); }
  size_t capacity() const { return capacity_; }

  // Up to a border of blocks, with a header behind what has so many bytes.
  static size_t padded(size_t bytes) {
    return (bytes + sizeof(BlockHeader) + storage::kBlockBytes - 1) / storage::kBlockBytes * storage::kBlockBytes;
  }

  // With room for what pads it. What was there before is gone.
  void replace(size_t capacity) {
    memory_.reset();
    capacity_ = 0;
    memory_ = aligned_buffer(padded(capacity));
    capacity_ = capacity;
  }

 private:
  AlignedBuffer memory_;
  size_t capacity_ = 0;
};

}  // namespace spillway::shuffle
