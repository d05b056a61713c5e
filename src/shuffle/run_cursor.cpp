#include "shuffle/run_cursor.h"

#include <algorithm>
#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::shuffle {

AlignedBuffer aligned_buffer(size_t bytes) {
  auto* memory = static_cast<char*>(std::aligned_alloc(storage::kBlockBytes, bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return AlignedBuffer(memory);
}

MemoryCursor::MemoryCursor(const Run& run) {
  at_ = run.memory.data();
  end_ = at_ + run.bytes;
}

uint64_t piece_checksum(const char* piece, size_t bytes) { return XXH3_64bits(piece, bytes); }

namespace {

[[noreturn]] void fail_for_damage(const RunFile* file, SpillSpace& space, uint64_t offset) {
  if (file != nullptr) file->fail_for_damage();
  space.fail_for_damage(offset);
}

}  // namespace

void ReadRequest::read(SpillSpace& space) const {
  if (file != nullptr) {
    file->read(to, rounded_to_blocks(bytes), offset);
  } else {
    space.read(to, rounded_to_blocks(bytes), offset);
  }
  const uint64_t* checksum = checksums;
  for (uint64_t done = 0; done < bytes; done += piece_bytes)
    if (piece_checksum(to + done, std::min<uint64_t>(piece_bytes, bytes - done)) != *checksum++)
      fail_for_damage(file, space, offset);
}

SpilledCursor::SpilledCursor(const Run& run, SpillSpace& space, size_t chunk_bytes, ReadAhead* ahead)
    : run_(run),
      space_(space),
      chunk_bytes_(chunk_bytes),
      ahead_(ahead),
      chunks_{aligned_buffer(rounded_to_blocks(std::min<uint64_t>(chunk_bytes, run.stored_bytes()))),
              aligned_buffer(rounded_to_blocks(std::min<uint64_t>(chunk_bytes, run.stored_bytes())))} {
  request_chunk();
  take_chunk();
}

SpilledCursor::~SpilledCursor() {
  if (is_requested_ && ahead_ != nullptr) ahead_->wait(request_);
}

void SpilledCursor::request_chunk() {
  is_requested_ = requested_bytes_ != run_.stored_bytes();
  if (!is_requested_) return;
  const uint64_t bytes = std::min<uint64_t>(chunk_bytes_, run_.stored_bytes() - requested_bytes_);
  const uint64_t* checksums = &run_.checksums[requested_bytes_ / run_.piece_bytes];
  char* to = chunks_[1 - current_].get();
  request_ = {run_.file.get(), run_.offset + requested_bytes_, bytes, run_.piece_bytes, checksums, to};
  requested_bytes_ += bytes;
  if (ahead_ != nullptr) ahead_->start(request_);
}

// False where the run ends.
bool SpilledCursor::take_chunk() {
  if (!is_requested_) return false;
  if (ahead_ != nullptr) {
    ahead_->wait(request_);
  } else {
    request_.read(space_);
  }
  current_ = 1 - current_;
  const uint64_t begin = request_.offset - run_.offset;
  at_ = chunks_[current_].get() + (begin == 0 ? run_.bytes_before : 0);
  end_ = chunks_[current_].get() + std::min(request_.bytes, run_.bytes_before + run_.bytes - begin);
  request_chunk();
  return true;
}

void SpilledCursor::fail_for_damage() const { shuffle::fail_for_damage(run_.file.get(), space_, run_.offset); }

// Adds the next bytes of the run, whatever chunks they are in, to what is gathered.
void SpilledCursor::gather(size_t bytes) {
  while (bytes != 0) {
    if (at_ == end_ && !take_chunk()) fail_for_damage();
    const size_t part = std::min<size_t>(bytes, static_cast<size_t>(end_ - at_));
    straddling_.append(at_, part);
    at_ += part;
    bytes -= part;
  }
}

bool SpilledCursor::gather_straddling() {
  straddling_.clear();
  uint64_t lengths[2] = {};
  for (uint64_t& length : lengths) {
    const size_t begin = straddling_.size();
    do {
      gather(1);
    } while ((straddling_.back() & 0x80) != 0 && straddling_.size() - begin < 10);
    if (read_length(straddling_.data() + begin, straddling_.data() + straddling_.size(), length) == nullptr)
      fail_for_damage();
  }
  gather(lengths[0]);
  gather(lengths[1]);
  return true;
}

bool SpilledCursor::next_across(Record& record) {
  if (at_ == end_) {
    if (!take_chunk()) return false;
    if (const char* after = read_record(at_, end_, record)) {
      at_ = after;
      return true;
    }
  }
  return gather_straddling() &&
         read_record(straddling_.data(), straddling_.data() + straddling_.size(), record) != nullptr;
}

}  // namespace spillway::shuffle
