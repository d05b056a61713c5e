// The on-disk format of sparse matrices in compressed sparse rows: of graphs, where row u lists the vertices that u
// points to, and of matrices with values. docs/reference/csr-format.md specifies every byte.
//
//   [0, 80)             CsrHeader
//   offsets_position    row_count + 1 row offsets, 64-bit: row u is entries [offset[u], offset[u + 1])
//   entries_position    entry_count entries: a column index of 32 bits, and a value of 32 bits where there are values
//
// Both arrays start at a multiple of 4096 bytes so that programs may read them with O_DIRECT. Column indices have 32
// bits because they are most of the file, and of the time of a program that reads it from storage: more than 2^32
// columns are refused. Index and value lie side by side as whoever needs one needs the other.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace apps {

inline constexpr std::array<char, 8> kCsrMagic = {'S', 'P', 'W', 'Y', 'C', 'S', 'R', '\n'};
inline constexpr uint32_t kCsrVersion = 2;
inline constexpr uint64_t kCsrAlignment = 4096;
inline constexpr uint64_t kMaxRowCount = uint64_t{1} << 32;    // and columns
inline constexpr uint64_t kMaxEntryCount = uint64_t{1} << 56;  // no product or sum of positions overflows

struct CsrHeader {
  std::array<char, 8> magic;  // kCsrMagic
  uint32_t version;           // kCsrVersion
  uint32_t column_bytes;      // 4
  uint32_t value_bytes;       // 0 (none) or 4 (IEEE 754)
  uint32_t reserved;          // 0
  uint64_t row_count;         // at most kMaxRowCount
  uint64_t column_count;      // at most kMaxRowCount
  uint64_t entry_count;       // at most kMaxEntryCount
  uint64_t offsets_position;  // in bytes from the start of the file
  uint64_t entries_position;  // in bytes from the start of the file
  uint64_t file_bytes;        // size of the whole file, so that a truncated one is recognized
  uint64_t checksum;          // header_checksum() of this header
};
static_assert(std::endian::native == std::endian::little, "the file's integers are little-endian");
static_assert(std::is_trivially_copyable_v<CsrHeader>);
static_assert(std::has_unique_object_representations_v<CsrHeader>, "no padding");
static_assert(sizeof(CsrHeader) == 80);
static_assert(offsetof(CsrHeader, version) == 8);
static_assert(offsetof(CsrHeader, column_bytes) == 12);
static_assert(offsetof(CsrHeader, value_bytes) == 16);
static_assert(offsetof(CsrHeader, row_count) == 24);
static_assert(offsetof(CsrHeader, column_count) == 32);
static_assert(offsetof(CsrHeader, entry_count) == 40);
static_assert(offsetof(CsrHeader, offsets_position) == 48);
static_assert(offsetof(CsrHeader, entries_position) == 56);
static_assert(offsetof(CsrHeader, file_bytes) == 64);
static_assert(offsetof(CsrHeader, checksum) == 72);

// An entry of a matrix with values; a graph's are columns alone.
struct MatrixEntry {
  uint32_t column;
  float value;
};
static_assert(sizeof(MatrixEntry) == 8);

inline uint32_t column_of(uint32_t entry) { return entry; }
inline uint32_t column_of(const MatrixEntry& entry) { return entry.column; }

template <typename Entry>
inline constexpr uint32_t kValueBytes = sizeof(Entry) - sizeof(uint32_t);

// FNV-1a, 64 bits, over the bytes before the field `checksum`.
inline uint64_t header_checksum(const CsrHeader& header) {
  unsigned char bytes[offsetof(CsrHeader, checksum)];
  std::memcpy(bytes, &header, sizeof bytes);
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : bytes) {
    hash = (hash ^ byte) * 0x100000001b3;
  }
  return hash;
}

// Where the entries start depends on the number of rows only, so a writer can put entries in place before it knows how
// many there will be.
constexpr uint64_t entries_position_of(uint64_t row_count) {
  const uint64_t offsets_end = kCsrAlignment + (row_count + 1) * sizeof(uint64_t);
  return (offsets_end + kCsrAlignment - 1) / kCsrAlignment * kCsrAlignment;
}

struct CsrShape {
  uint64_t row_count;
  uint64_t column_count;
  uint32_t value_bytes;

  [[nodiscard]] uint64_t entry_bytes() const { return sizeof(uint32_t) + value_bytes; }
};

inline CsrHeader make_header(const CsrShape& shape, uint64_t entry_count) {
  CsrHeader header = {};
  header.magic = kCsrMagic;
  header.version = kCsrVersion;
  header.column_bytes = sizeof(uint32_t);
  header.value_bytes = shape.value_bytes;
  header.row_count = shape.row_count;
  header.column_count = shape.column_count;
  header.entry_count = entry_count;
  header.offsets_position = kCsrAlignment;
  header.entries_position = entries_position_of(shape.row_count);
  header.file_bytes = header.entries_position + entry_count * shape.entry_bytes();
  header.checksum = header_checksum(header);
  return header;
}

}  // namespace apps
