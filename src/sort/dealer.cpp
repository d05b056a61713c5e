#include "sort/dealer.h"

#include <cstring>

#include "base/clock.h"
#include "sort/failure.h"
#include "sort/long_line.h"

namespace spillway::sort {
namespace {

std::string_view bytes_of(const auto& number) { return {reinterpret_cast<const char*>(&number), sizeof number}; }

}  // namespace

void Dealer::deal_out(const char* memory, const InputPlan::Block& block) {
  const uint64_t begin = base::now_ns();
  if (layout_.is_lines()) {
    deal_out_lines(memory, block);
  } else {
    const uint64_t record_bytes = layout_.record_bytes();
    const char* const records = memory + (block.offset - block.read_offset);
    for (uint64_t at = 0; at != block.bytes; at += record_bytes)
      deal({records + at, record_bytes}, block.position + at);
  }
  computed_ns_ += base::now_ns() - begin;
}

void Dealer::deal_out_lines(const char* memory, const InputPlan::Block& block) {
  const uint64_t file_bytes = plan_.files()[block.file].bytes;
  const uint64_t read_end = block.read_offset + block.read_bytes;
  const uint64_t end = block.offset + block.bytes;
  const auto find_end = [&](uint64_t from, uint64_t to) {
    const char* begin = memory + (from - block.read_offset);
    const void* found = std::memchr(begin, '\n', to - from);
    return found == nullptr ? to : from + static_cast<uint64_t>(static_cast<const char*>(found) - begin);
  };
  uint64_t at = block.offset;
  if (at != 0) {
    at = find_end(at, end);
    if (at == end) return;
    ++at;
  }
  while (at <= end && at < file_bytes) {
    const uint64_t line_end = find_end(at, read_end);
    std::string_view line(memory + (at - block.read_offset), line_end - at);
    if (line_end == read_end && read_end != file_bytes) {
      long_line_ = read_line(plan_.files()[block.file].path, at, RecordLayout::kMostRecordBytes);
      line = long_line_;
    }
    if (line.size() > RecordLayout::kMostRecordBytes)
      throw Failure(
          "the line at byte " + std::to_string(at) + " of " + plan_.files()[block.file].path + " has more than 1 MiB",
          "look whether the file is text; lines of up to 1 MiB can be sorted");
    deal(line, block.position - block.offset + at);
    at += line.size() + 1;
  }
}

void Dealer::deal(std::string_view record, uint64_t position) {
  ++records_;
  const std::string_view key = layout_.key(record);
  const uint64_t prefix = layout_.order().prefix(key);
  const uint64_t place = layout_.is_unique() ? ~uint64_t{0} : position;
  const uint32_t bucket = splitters_.bucket_of(prefix, key, place);
  if (layout_.is_unique() && splitters_.is_first_of(bucket, prefix, key)) {
    ++repeats_[bucket];
    if (position > first_positions_[bucket]) return;
    first_positions_[bucket] = position;
  }
  const auto size = static_cast<uint32_t>(record.size());
  store_.add(bucket, layout_.is_lines() ? bytes_of(size) : std::string_view(), record,
             layout_.has_positions() ? bytes_of(position) : std::string_view());
}

}  // namespace spillway::sort
