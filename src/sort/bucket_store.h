// What a sorter has got of each bucket: chunks of records in memory, or in its spill file, written while it goes on.
// A record may lie in two chunks; all but the last chunk of a bucket are full.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

#include "sort/aligned_memory.h"
#include "sort/async_io.h"
#include "storage/spill_file.h"

namespace spillway::sort {

class BucketStore {
 public:
  // `chunks` of them are in memory at most, unless `is_in_memory`: then all, and there is no file. `io` and
  // `spill_directory` stay.
  BucketStore(uint64_t bucket_count, uint64_t chunk_bytes, uint64_t chunks, bool is_in_memory,
              const char* spill_directory, AsyncIo& io);

  // A record, and what is stored before and behind it.
  void add(uint32_t bucket, std::string_view header, std::string_view record, std::string_view trailer) {
    Bucket& to = buckets_[bucket];
    ++to.records;
    if (!header.empty()) append(to, header.data(), header.size());
    append(to, record.data(), record.size());
    if (!trailer.empty()) append(to, trailer.data(), trailer.size());
  }

  // Nothing more is added. The memory of chunks is free when the I/O has ended.
  void finish();
  void free_memory();

  std::vector<uint64_t> bucket_bytes() const;
  std::vector<uint64_t> bucket_records() const;

  // Calls with the place of each piece in its bucket, its bytes, and where it is: in memory, or in the file at an
  // offset, where it has a checksum (XXH3, 64 bits).
  struct Piece {
    uint64_t place;
    uint64_t bytes;
    const char* memory;
    uint64_t file_offset;
    uint64_t checksum;
  };
  void for_each_piece(uint64_t bucket, const std::function<void(const Piece&)>& function) const;
  DirectFile& file() { return file_; }
  // Throws Failure where what was read of a piece of the file is not what was written.
  void check(const Piece& piece, const char* read) const;

 private:
  struct Bucket {
    char* chunk = nullptr;
    uint64_t filled = 0;
    uint64_t records = 0;
    uint64_t bytes = 0;         // of what has been passed on
    std::vector<char*> memory;  // one of the two
    std::vector<uint64_t> file_offsets;
    std::vector<uint64_t> checksums;
  };

  void append(Bucket& to, const char* data, uint64_t bytes) {
    while (to.filled + bytes >= chunk_bytes_) {
      const uint64_t part = chunk_bytes_ - to.filled;
      std::memcpy(to.chunk + to.filled, data, part);
      data += part;
      bytes -= part;
      pass_on(to, chunk_bytes_);
      to.chunk = free_chunk();
      to.filled = 0;
    }
    std::memcpy(to.chunk + to.filled, data, bytes);
    to.filled += bytes;
  }
  char* free_chunk();
  void pass_on(Bucket& bucket, uint64_t bytes);
  void make_file_longer_than(uint64_t bytes);

  const uint64_t chunk_bytes_;
  const bool is_in_memory_;
  AsyncIo& io_;
  std::vector<Bucket> buckets_;
  uint64_t chunks_left_;  // that may be allocated
  std::vector<AlignedMemory> chunks_;
  std::vector<char*> free_chunks_;
  storage::SpillFile spill_file_;
  DirectFile file_;
  uint64_t file_bytes_ = 0;  // that are written,
  uint64_t file_size_ = 0;   // and up to where there may be some
  bool has_holes_ = true;    // as its file system has them
};

}  // namespace spillway::sort
