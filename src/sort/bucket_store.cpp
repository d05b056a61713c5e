#include "sort/bucket_store.h"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.h"
#include "sort/failure.h"
#include "sort/file_hole.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::sort {
namespace {

constexpr uint64_t kWaitNs = 1'000'000'000;
constexpr uint64_t kLeastFileBytes = 64 << 20;

}  // namespace

BucketStore::BucketStore(uint64_t bucket_count, uint64_t chunk_bytes, uint64_t chunks, bool is_in_memory,
                         const char* spill_directory, AsyncIo& io)
    : chunk_bytes_(chunk_bytes),
      is_in_memory_(is_in_memory),
      io_(io),
      buckets_(bucket_count),
      chunks_left_(is_in_memory ? std::numeric_limits<uint64_t>::max() : chunks) {
  if (!is_in_memory) {
    spill_file_.create(spill_directory);
    file_ = {std::string("the spill file in ") + spill_directory, base::Descriptor(dup(spill_file_.descriptor())),
             spill_file_.is_direct()};
  }
  for (Bucket& bucket : buckets_) bucket.chunk = free_chunk();
}

char* BucketStore::free_chunk() {
  while (free_chunks_.empty()) {
    if (chunks_left_ != 0) {
      --chunks_left_;
      chunks_.emplace_back(chunk_bytes_);
      return chunks_.back().data();
    }
    SPILLWAY_CHECK(io_.pending() != 0);
    io_.wait(kWaitNs);
  }
  char* chunk = free_chunks_.back();
  free_chunks_.pop_back();
  return chunk;
}

void BucketStore::pass_on(Bucket& bucket, uint64_t bytes) {
  bucket.bytes += bytes;
  if (is_in_memory_) {
    bucket.memory.push_back(bucket.chunk);
  } else {
    const uint64_t written = whole_blocks(bytes);
    std::memset(bucket.chunk + bytes, 0, written - bytes);
    bucket.file_offsets.push_back(file_bytes_);
    bucket.checksums.push_back(XXH3_64bits(bucket.chunk, bytes));
    make_file_longer_than(file_bytes_ + written);
    io_.write(file_, bucket.chunk, written, file_bytes_,
              [this, chunk = bucket.chunk] { free_chunks_.push_back(chunk); });
    file_bytes_ += written;
  }
  bucket.chunk = nullptr;
}

// ext4 starts a direct write beyond the end of a file only when it has ended, too. What is not written yet takes no
// room, or the file is not made longer. Where it may not become that long, writes make it longer after all.
void BucketStore::make_file_longer_than(uint64_t bytes) {
  if (bytes <= file_size_ || !file_.is_direct || !has_holes_) return;
  const bool is_first = file_size_ == 0;
  file_size_ = std::max(2 * bytes, kLeastFileBytes);
  const int file = file_.descriptor.number();
  if (is_first) {
    has_holes_ = make_longer_by_hole(file, file_size_);
  } else {
    static_cast<void>(ftruncate(file, static_cast<off_t>(file_size_)));
  }
}

void BucketStore::finish() {
  for (Bucket& bucket : buckets_)
    if (bucket.filled != 0) pass_on(bucket, bucket.filled);
}

void BucketStore::free_memory() {
  if (is_in_memory_) return;
  free_chunks_.clear();
  chunks_.clear();
}

std::vector<uint64_t> BucketStore::bucket_bytes() const {
  std::vector<uint64_t> bytes;
  for (const Bucket& bucket : buckets_) bytes.push_back(bucket.bytes);
  return bytes;
}

std::vector<uint64_t> BucketStore::bucket_records() const {
  std::vector<uint64_t> records;
  for (const Bucket& bucket : buckets_) records.push_back(bucket.records);
  return records;
}

void BucketStore::for_each_piece(uint64_t bucket, const std::function<void(const Piece&)>& function) const {
  const Bucket& of = buckets_[bucket];
  for (uint64_t place = 0, i = 0; place < of.bytes; place += chunk_bytes_, ++i) {
    const uint64_t bytes = std::min(chunk_bytes_, of.bytes - place);
    if (is_in_memory_) {
      function({place, bytes, of.memory[i], 0, 0});
    } else {
      function({place, bytes, nullptr, of.file_offsets[i], of.checksums[i]});
    }
  }
}

void BucketStore::check(const Piece& piece, const char* read) const {
  if (XXH3_64bits(read, piece.bytes) == piece.checksum) return;
  throw Failure("read something else from " + file_.name + " than had been written: checksums differ",
                "look into the system's log (dmesg), check the device and the machine's memory, or name a directory on "
                "another device with --spill-dir");
}

}  // namespace spillway::sort
