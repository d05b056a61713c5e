// Memory for direct I/O.
#pragma once

#include <sys/mman.h>

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

// The same, for reads that go on while this process calls MPI. Under `spillway run` a rank that waits in a call may be
// unloaded, and the device would go on to write to pages that are not the rank's any more. Spillway unloads what malloc
// gives and static arrays. These pages are mapped as shared: no process has them alone, so that neither unloading nor a
// fork can put others in their place.
class LastingMemory {
 public:
  LastingMemory() = default;
  // At least so many, a multiple of storage::kBlockBytes; not 0.
  explicit LastingMemory(uint64_t bytes) : memory_(nullptr, Unmap{whole_blocks(bytes)}) {
    void* const memory =
        mmap(nullptr, memory_.get_deleter().bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_.reset(static_cast<char*>(memory));
  }

  char* data() const { return memory_.get(); }
  uint64_t bytes() const { return memory_.get_deleter().bytes; }

 private:
  struct Unmap {
    uint64_t bytes;
    void operator()(char* memory) const { munmap(memory, bytes); }
  };
  std::unique_ptr<char, Unmap> memory_;
};

}  // namespace spillway::sort
