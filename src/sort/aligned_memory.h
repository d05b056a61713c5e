// Memory for direct I/O.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "storage/spill_file.h"

namespace spillway::sort {

// So many bytes, and what is missing to whole blocks of direct I/O.
inline uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + storage::kBlockBytes - 1) / storage::kBlockBytes * storage::kBlockBytes;
}

class AlignedMemory {
 public:
  AlignedMemory() = default;
  // At least so many, a multiple of storage::kBlockBytes.
  explicit AlignedMemory(uint64_t bytes)
      : bytes_(whole_blocks(bytes)), memory_(static_cast<char*>(std::aligned_alloc(storage::kBlockBytes, bytes_))) {
    if (bytes_ != 0 && memory_ == nullptr) throw std::bad_alloc();
  }

  char* data() const { return memory_.get(); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  uint64_t bytes_ = 0;
  std::unique_ptr<char, Free> memory_;
};

}  // namespace spillway::sort
