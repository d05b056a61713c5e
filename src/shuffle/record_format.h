// The bytes of records and blocks, in memory, on the wire and on disk.
//
// A record is the length of its key and that of its value, each seven bits to a byte with the lowest first, as many
// bytes as it takes, the eighth bit saying that another follows; then the key and the value. Records follow each other
// without gaps. A block, which is sent, is a header and the records of one partition, sorted by key; on disk are the
// records alone. Numbers are in the machine's byte order: the processes of a job are of one build.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace spillway::shuffle {

struct Record {
  std::string_view key;
  std::string_view value;
};

inline constexpr uint32_t kBlockVersion = 0x4b560001;  // "KV", and a number for each change of this format
// Of a header without records.
inline constexpr uint32_t kEndOfWindow = UINT32_MAX - 1;
inline constexpr uint32_t kEnd = UINT32_MAX;  // its sender sends nothing more

struct BlockHeader {
  uint32_t version;
  uint32_t partition;
  uint64_t bytes;  // of the records, which follow
  uint64_t records;
};
static_assert(sizeof(BlockHeader) == 24 && std::is_trivially_copyable_v<BlockHeader>);
static_assert(offsetof(BlockHeader, bytes) == 8 && offsetof(BlockHeader, records) == 16);

inline size_t length_bytes(uint64_t length) {
  size_t bytes = 1;
  for (; length >= 0x80; length >>= 7) ++bytes;
  return bytes;
}

inline char* write_length(char* to, uint64_t length) {
  for (; length >= 0x80; length >>= 7) *to++ = static_cast<char>(length | 0x80);
  *to++ = static_cast<char>(length);
  return to;
}

// Returns what follows; nullptr where the bytes end before the number does.
inline const char* read_length(const char* from, const char* end, uint64_t& length) {
  uint64_t result = 0;
  for (unsigned shift = 0; from != end && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(*from++);
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      length = result;
      return from;
    }
  }
  return nullptr;
}

inline size_t record_bytes(const Record& record) {
  return length_bytes(record.key.size()) + length_bytes(record.value.size()) + record.key.size() + record.value.size();
}

inline char* write_record(char* to, const Record& record) {
  to = write_length(write_length(to, record.key.size()), record.value.size());
  if (!record.key.empty()) std::memcpy(to, record.key.data(), record.key.size());
  to += record.key.size();
  if (!record.value.empty()) std::memcpy(to, record.value.data(), record.value.size());
  return to + record.value.size();
}

// The same, nullptr where the bytes end before the record does.
inline const char* read_record(const char* from, const char* end, Record& record) {
  uint64_t key_bytes = 0;
  uint64_t value_bytes = 0;
  const char* value_length = read_length(from, end, key_bytes);
  const char* key = value_length == nullptr ? nullptr : read_length(value_length, end, value_bytes);
  if (key == nullptr) return nullptr;
  const auto left = static_cast<uint64_t>(end - key);
  if (key_bytes > left || value_bytes > left - key_bytes) return nullptr;
  record = {{key, key_bytes}, {key + key_bytes, value_bytes}};
  return key + key_bytes + value_bytes;
}

}  // namespace spillway::shuffle
