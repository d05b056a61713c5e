// Sorted records of one partition, in memory, in the spill file or in a file that stays.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "shuffle/byte_buffer.h"
#include "shuffle/run_file.h"

namespace spillway::shuffle {

struct Run {
  // What a run in memory takes beyond its records, about.
  static constexpr uint64_t kOverheadBytes = 128;
  static constexpr size_t kLeastPieceBytes = 16 << 10;

  uint64_t bytes = 0;  // of its records
  uint64_t records = 0;
  unsigned level = 0;       // how often they have been merged
  bool is_spilled = false;  // it is in a file

  // There.
  std::shared_ptr<const RunFile> file;  // empty: the spill file
  uint64_t offset = 0;
  uint64_t bytes_before = 0;  // of the first piece, before the records: in a file that stays
  uint64_t bytes_behind = 0;  // of the last piece
  size_t piece_bytes = 0;     // for which there is a checksum: a power of two; the last piece may be shorter
  std::vector<uint64_t> checksums;
  uint64_t longest_record = 0;  // bytes, which its reader may have to hold

  // Else.
  ByteBuffer memory;

  // In pieces. REQUIRES: it is in a file.
  uint64_t stored_bytes() const { return bytes_before + bytes + bytes_behind; }

  // What is charged for it.
  uint64_t resident_bytes() const { return is_spilled ? 0 : memory.capacity() + kOverheadBytes; }
};

}  // namespace spillway::shuffle
