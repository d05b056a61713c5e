// What a process's memory is divided into, and how many buckets there are so that one can be sorted in it.
#pragma once

#include <cstdint>

namespace spillway::sort {

struct MemoryPlan {
  static constexpr uint64_t kMostReadings = 3;  // blocks that a process reads or delivers at a time

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
  struct Processes {
    uint64_t sorters;       // of which each has records of all buckets,
    uint64_t owners;        // which these finish, as many each
    uint64_t memory_bytes;  // of one
    uint64_t shared_bytes;  // what it may have of the memory that processes share
    bool are_on_several_nodes;
  };
  // Throws Failure where the memory, or the shared one, is too little.
  static MemoryPlan make(const Records& records, const Processes& processes);
};

}  // namespace spillway::sort
