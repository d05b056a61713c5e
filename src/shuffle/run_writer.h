// Makes a run of records that come in order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shuffle/record_format.h"
#include "shuffle/run.h"
#include "shuffle/run_cursor.h"
#include "shuffle/spill_space.h"

namespace spillway::shuffle {

// In memory.
class MemoryRunWriter {
 public:
  // The records have at most so many bytes.
  explicit MemoryRunWriter(uint64_t most_bytes) : memory_(most_bytes), to_(memory_.data()) {}

  void add(const Record& record) {
    to_ = write_record(to_, record);
    ++records_;
  }
  Run finish();

 private:
  ByteBuffer memory_;
  char* to_;
  uint64_t records_ = 0;
};

// In the spill file, through a buffer.
class SpilledRunWriter {
 public:
  // The records have at most so many bytes. `piece_bytes` are a power of two of blocks, 1 MiB at most.
  SpilledRunWriter(SpillSpace& space, uint64_t most_bytes, size_t piece_bytes);

  void add(const Record& record);
  Run finish();

 private:
  void append(const char* data, size_t bytes);
  void flush();

  SpillSpace& space_;
  const size_t piece_bytes_;
  const uint64_t reserved_bytes_;
  const uint64_t offset_;
  AlignedBuffer buffer_;
  size_t used_ = 0;
  uint64_t flushed_bytes_ = 0;
  std::vector<uint64_t> checksums_;
  uint64_t records_ = 0;
  uint64_t longest_record_ = 0;
};

}  // namespace spillway::shuffle
