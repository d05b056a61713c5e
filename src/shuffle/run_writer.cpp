#include "shuffle/run_writer.h"

#include <algorithm>
#include <utility>

namespace spillway::shuffle {
namespace {
constexpr size_t kBufferBytes = 1 << 20;
}  // namespace

Run MemoryRunWriter::finish() {
  Run run;
  run.bytes = static_cast<uint64_t>(to_ - memory_.data());
  run.records = records_;
  if (run.bytes + (run.bytes >> 3) < memory_.capacity()) memory_.shrink(run.bytes);
  run.memory = std::move(memory_);
  return run;
}

SpilledRunWriter::SpilledRunWriter(SpillSpace& space, uint64_t most_bytes, size_t piece_bytes)
    : space_(space),
      piece_bytes_(piece_bytes),
      reserved_bytes_(rounded_to_blocks(most_bytes)),
      offset_(space.allocate(reserved_bytes_)),
      buffer_(aligned_buffer(kBufferBytes)) {
  checksums_.reserve(most_bytes / piece_bytes + 1);
}

void SpilledRunWriter::flush() {
  for (size_t done = 0; done < used_; done += piece_bytes_)
    checksums_.push_back(piece_checksum(buffer_.get() + done, std::min(piece_bytes_, used_ - done)));
  const uint64_t bytes = rounded_to_blocks(used_);
  std::memset(buffer_.get() + used_, 0, bytes - used_);
  space_.write(buffer_.get(), bytes, offset_ + flushed_bytes_);
  flushed_bytes_ += used_;
  used_ = 0;
}

void SpilledRunWriter::append(const char* data, size_t bytes) {
  while (bytes != 0) {
    if (used_ == kBufferBytes) flush();
    const size_t part = std::min(bytes, kBufferBytes - used_);
    std::memcpy(buffer_.get() + used_, data, part);
    used_ += part;
    data += part;
    bytes -= part;
  }
}

void SpilledRunWriter::add(const Record& record) {
  const size_t bytes = record_bytes(record);
  if (bytes <= kBufferBytes - used_) {
    write_record(buffer_.get() + used_, record);
    used_ += bytes;
  } else {
    char lengths[20];
    const char* end = write_length(write_length(lengths, record.key.size()), record.value.size());
    append(lengths, static_cast<size_t>(end - lengths));
    append(record.key.data(), record.key.size());
    append(record.value.data(), record.value.size());
  }
  ++records_;
  longest_record_ = std::max<uint64_t>(longest_record_, bytes);
}

Run SpilledRunWriter::finish() {
  if (used_ != 0) flush();
  Run run;
  run.is_spilled = true;
  run.offset = offset_;
  run.bytes = flushed_bytes_;
  run.records = records_;
  run.piece_bytes = piece_bytes_;
  checksums_.shrink_to_fit();
  run.checksums = std::move(checksums_);
  run.longest_record = longest_record_;
  const uint64_t used = rounded_to_blocks(flushed_bytes_);
  space_.release(offset_ + used, reserved_bytes_ - used);
  return run;
}

}  // namespace spillway::shuffle
