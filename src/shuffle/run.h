// Sorted records of one partition, in memory or in the spill file.
#pragma once

#include <cstdint>
#include <vector>

#include "shuffle/byte_buffer.h"

namespace spillway::shuffle {

struct Run {
  // What a run in memory takes beyond its records, about.
  static constexpr uint64_t kOverheadBytes = 128;

  uint64_t bytes = 0;  // of its records
  uint64_t records = 0;
  unsigned level = 0;  // how often they have been merged
  bool is_spilled = false;

  // In the spill file.
  uint64_t offset = 0;
  size_t piece_bytes = 0;  // for which there is a checksum; the last piece may be shorter
  std::vector<uint64_t> checksums;
  uint64_t longest_record = 0;  // bytes, which its reader may have to hold

  // Else.
  ByteBuffer memory;

  // What is charged for it.
  uint64_t resident_bytes() const { return is_spilled ? 0 : memory.capacity() + kOverheadBytes; }
};

}  // namespace spillway::shuffle
