// What a process's memory is divided into, and how many buckets there are so that one can be sorted in it.
#pragma once

#include <cstdint>

namespace spillway::sort {

struct MemoryPlan {
  uint64_t block_bytes;  // of records that are delivered as one
  uint64_t slot_bytes;   // of the memory for a block, and what is read around it
  uint64_t slots;        // staging buffers of a process
  uint64_t bucket_count;
  uint64_t chunk_bytes;  // in which buckets are written
  uint64_t chunks;       // of a process: those that are filled, and those on their way
  uint64_t heap_bytes;   // of symmetric memory
  bool is_in_memory;     // buckets are not written

  struct Records {
    uint64_t bytes;        // of all, as buckets have them
    double average_bytes;  // of one
    uint64_t unit_bytes;   // blocks are a whole number of so many,
    uint64_t tail_bytes;   // and so many are read behind each
  };
  // Of `sorters` each has records of all buckets, which `owners` finish, as many each. `memory_bytes` are one
  // process's, and `shared_bytes` what it may have of the memory that processes share. Throws Failure where one of them
  // is too little.
  static MemoryPlan make(const Records& records, uint64_t sorters, uint64_t owners, uint64_t memory_bytes,
                         uint64_t shared_bytes);
};

}  // namespace spillway::sort
