// The file that records are written to: in place, by all processes at once, under another name until it is whole.
#pragma once

#include <cstdint>
#include <string>

#include "sort/aligned_memory.h"
#include "sort/async_io.h"
#include "sort/direct_file.h"

namespace spillway::sort {

// That the output is in.
std::string directory_of(const std::string& path);
// Of an output while it is written: hidden beside it. `token` is the job's own.
std::string partial_name(const std::string& path, const std::string& token);

// By one process: makes the file, which nobody else can read, with room for so many bytes, and so long that
// `most_bytes` do not make it longer, if it may be: ext4 starts a direct write beyond the end only when it has ended,
// too. Throws Failure where there is one of that name.
void create_partial(const std::string& partial, uint64_t bytes, uint64_t most_bytes);
// The same for a directory; its files take their room when they are made.
void create_partial_directory(const std::string& partial, uint64_t bytes);
// Writes what is in no range. Throws Failure.
void write_whole(const std::string& partial, const std::string& text);
// By one process, when all have written `bytes` in all: it has as much, and the access rights of the file that is at
// `path`, else those of a new one. Throws Failure.
void complete(const std::string& partial, const std::string& path, uint64_t bytes);
// It appears as `path`; a directory with the rights of the one that is there, else with those of a new one. Throws
// Failure.
void rename_partial(const std::string& partial, const std::string& path);

// A range of the file. Blocks that are the range's alone are written directly; the rest of the first and the last one
// goes through the page cache, as others write their part of these.
class OutputRange {
 public:
  // Of a partial file. `io` stays.
  OutputRange(const std::string& partial, AsyncIo& io);
  ~OutputRange() = default;
  OutputRange(const OutputRange&) = delete;
  OutputRange& operator=(const OutputRange&) = delete;

  // Begins a range behind which nothing is written before the next one begins.
  void begin(uint64_t offset, uint64_t bytes);
  // Memory for the next bytes of the range, and how many fit; waits until there is some. 0 at its end.
  char* next_memory(uint64_t& most);
  // So many have been put there.
  void put(uint64_t bytes);
  // Waits until all is written.
  void finish();

 private:
  static constexpr size_t kBuffers = 4;
  static constexpr uint64_t kBufferBytes = 4 << 20;

  struct Buffer {
    AlignedMemory memory;
    bool is_free = true;
  };
  void write_edge(const char* data, uint64_t bytes, uint64_t offset);

  AsyncIo& io_;
  DirectFile direct_;
  base::Descriptor cached_;
  Buffer buffers_[kBuffers];
  size_t current_ = 0;
  uint64_t offset_ = 0;  // of the next byte
  uint64_t end_ = 0;
};

}  // namespace spillway::sort
