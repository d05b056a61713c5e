// What a record is: so many bytes, or a line of text. Where its key is, what becomes of records with equal keys, and
// the forms that a record has in buckets and in the output.
//
// In buckets a line has its length before it, and any record its position in the input behind it where that decides
// between those with equal keys.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "sort/key_order.h"

namespace spillway::sort {

// Which of those with equal keys come out, and in which order.
enum class EqualKeys {
  unordered,   // all, in any order
  stable,      // all, as they are in the input
  first_only,  // the first one in the input
  counted,     // it, and how many there were
};

class RecordLayout {
 public:
  static constexpr uint64_t kMostRecordBytes = uint64_t{1} << 20;  // also of lines

  // Records of one size. Throws UsageFailure where the key does not lie in the record, or a number has no such size.
  RecordLayout(uint64_t record_bytes, uint64_t key_offset, uint64_t key_bytes, KeyOrder order, EqualKeys equal_keys);
  // Lines: by the field of that number, from 1, or as a whole (0). Without a separator fields are what is between
  // blanks. Lines that differ and have equal keys are stable at least.
  RecordLayout(uint64_t field, std::optional<char> separator, KeyOrder order, EqualKeys equal_keys);

  // Of options. A key is OFFSET:LENGTH[:bytes|int|uint|float][:desc],
  static RecordLayout parse(uint64_t record_bytes, const std::string& key, EqualKeys equal_keys);
  // of lines FIELD[:bytes|number][:desc]; the separator is a byte, \t, or empty for blanks.
  static RecordLayout parse_lines(const std::string& key, const std::string& separator, EqualKeys equal_keys);

  bool is_lines() const { return record_bytes_ == 0; }
  // Of each record, and of lines 0, as are the next two.
  uint64_t record_bytes() const { return record_bytes_; }
  uint64_t key_offset() const { return key_offset_; }
  uint64_t key_bytes() const { return key_bytes_; }
  // Files consist of a whole number of so many bytes.
  uint64_t unit_bytes() const { return is_lines() ? 1 : record_bytes_; }
  const KeyOrder& order() const { return order_; }
  bool has_positions() const { return equal_keys_ != EqualKeys::unordered; }
  bool is_unique() const { return equal_keys_ == EqualKeys::first_only || is_counted(); }
  bool is_counted() const { return equal_keys_ == EqualKeys::counted; }
  // Whether the prefixes of keys do not tell all of their order.
  bool has_more_than_prefix() const { return has_positions() || is_lines() || order_.has_more_than_prefix(key_bytes_); }

  // Of a record, or of a line without its end.
  std::string_view key(std::string_view record) const {
    if (!is_lines()) return record.substr(key_offset_, key_bytes_);
    return field_ == 0 ? record : field(record);
  }

  // In a bucket it has so many bytes more, of which these are before it.
  uint64_t extra_bytes() const { return header_bytes() + (has_positions() ? sizeof(uint64_t) : 0); }
  uint64_t header_bytes() const { return is_lines() ? sizeof(uint32_t) : 0; }
  // The record at this place of a bucket.
  std::string_view stored(const char* at) const {
    if (!is_lines()) return {at, record_bytes_};
    uint32_t bytes = 0;
    std::memcpy(&bytes, at, sizeof bytes);
    return {at + sizeof bytes, bytes};
  }
  // REQUIRES: has_positions().
  static uint64_t position(std::string_view stored) {
    uint64_t position = 0;
    std::memcpy(&position, stored.data() + stored.size(), sizeof position);
    return position;
  }
  // Whether the first of two stored records comes first.
  bool is_before(std::string_view first, std::string_view second) const;

  // What so many records that take `stored_bytes` in buckets take in the output, if all come out.
  uint64_t output_bytes(uint64_t stored_bytes, uint64_t records) const {
    return stored_bytes + records * (is_lines() ? 1 : 0) - records * extra_bytes();
  }
  // The form in the output of a record that occurred `count` times: a line has its end, and a count before it as
  // uniq -c gives it; else the count is a number of 8 bytes behind the record, in the machine's byte order.
  uint64_t written_bytes(std::string_view record, uint64_t count) const;
  void write(std::string_view record, uint64_t count, char* to) const;

 private:
  std::string_view field(std::string_view line) const;

  uint64_t record_bytes_ = 0;
  uint64_t key_offset_ = 0;
  uint64_t key_bytes_ = 0;
  uint64_t field_ = 0;
  std::optional<char> separator_;
  KeyOrder order_;
  EqualKeys equal_keys_;
};

}  // namespace spillway::sort
