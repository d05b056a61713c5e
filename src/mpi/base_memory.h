// What a rank takes besides storage-backed memory: program, libraries, stacks, small variables and allocations, the MPI
// library's buffers.
#pragma once

#include <cstdint>

#include "memory/arena.h"

namespace spillway::mpi {

class BaseMemory {
 public:
  explicit BaseMemory(memory::Arena& arena) : arena_(arena) {}

  // In bytes, each page shared equally among the processes that map it (proportional share). To be asked often: looks
  // again only when the heap has changed noticeably since the last look, or that is long ago.
  uint64_t bytes();

 private:
  void look();

  memory::Arena& arena_;
  uint64_t bytes_ = 0;
  uint64_t heap_bytes_ = 0;
  uint64_t next_glance_ns_ = 0;  // at the heap alone
  uint64_t next_look_ns_ = 0;
};

}  // namespace spillway::mpi
