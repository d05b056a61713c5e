// Memory of a sorted list, from which direct I/O can write it as it is.
#pragma once

#include <cstddef>

#include "shuffle/run_cursor.h"
#include "shuffle/spill_space.h"

namespace spillway::shuffle {

class ListMemory {
 public:
  char* data() { return memory_.get(); }
  const char* data() const { return memory_.get(); }
  size_t capacity() const { return capacity_; }

  // With room for what pads it to whole blocks of the disk. What was there before is gone.
  void replace(size_t capacity) {
    memory_.reset();
    capacity_ = 0;
    memory_ = aligned_buffer(rounded_to_blocks(capacity));
    capacity_ = capacity;
  }

 private:
  AlignedBuffer memory_;
  size_t capacity_ = 0;
};

}  // namespace spillway::shuffle
