// Goes through the records of one run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "shuffle/record_format.h"
#include "shuffle/run.h"
#include "shuffle/spill_space.h"

namespace spillway::shuffle {

class RunCursor {
 public:
  virtual ~RunCursor() = default;

  // False at the end. The record stays until the next call.
  bool next(Record& record) {
    const char* after = read_record(at_, end_, record);
    if (after == nullptr) [[unlikely]]
      return next_across(record);
    // It is asked for the next one when all other runs have had their turns: without this nobody would have loaded it.
    __builtin_prefetch(after);
    __builtin_prefetch(after + kCacheLineBytes);
    at_ = after;
    return true;
  }

 protected:
  // Called where what is between `at_` and `end_` is no whole record.
  virtual bool next_across(Record& record) = 0;

  const char* at_ = nullptr;
  const char* end_ = nullptr;

 private:
  static constexpr size_t kCacheLineBytes = 64;
};

class MemoryCursor : public RunCursor {
 public:
  // The run must stay.
  explicit MemoryCursor(const Run& run);

 private:
  bool next_across(Record&) override { return false; }
};

// Memory for direct I/O.
struct FreeAligned {
  void operator()(char* memory) const { std::free(memory); }
};
using AlignedBuffer = std::unique_ptr<char[], FreeAligned>;
AlignedBuffer aligned_buffer(size_t bytes);

// Of a piece of a spilled run: XXH3, 64 bits.
uint64_t piece_checksum(const char* piece, size_t bytes);

// A chunk of a spilled run that somebody else is to read: some pieces.
struct ReadRequest {
  const RunFile* file = nullptr;  // else the spill file
  uint64_t offset = 0;
  uint64_t bytes = 0;  // that belong to the run
  size_t piece_bytes = 0;
  const uint64_t* checksums = nullptr;
  char* to = nullptr;  // there is room for whole blocks
  bool is_done = false;

  // Ends the process where it is not what has been written.
  void read(SpillSpace& space) const;
};

class ReadAhead {
 public:
  virtual ~ReadAhead() = default;
  virtual void start(ReadRequest& request) = 0;
  virtual void wait(ReadRequest& request) = 0;
};

// Reads chunks of a spilled run, whose checksums it has; the next one is read ahead while records are taken from the
// last.
class SpilledCursor : public RunCursor {
 public:
  // Without `ahead`, the caller itself reads. The run must stay. `chunk_bytes` is a multiple of its piece_bytes.
  SpilledCursor(const Run& run, SpillSpace& space, size_t chunk_bytes, ReadAhead* ahead);
  ~SpilledCursor() override;

 private:
  bool next_across(Record& record) override;
  void request_chunk();
  bool take_chunk();
  bool gather_straddling();
  void gather(size_t bytes);
  [[noreturn]] void fail_for_damage() const;

  const Run& run_;
  SpillSpace& space_;
  const size_t chunk_bytes_;
  ReadAhead* const ahead_;
  AlignedBuffer chunks_[2];
  unsigned current_ = 1;          // of chunks_, where records are taken from
  uint64_t requested_bytes_ = 0;  // of the run, so far
  bool is_requested_ = false;
  ReadRequest request_;
  std::string straddling_;  // a record that lies in more than one chunk
};

}  // namespace spillway::shuffle
