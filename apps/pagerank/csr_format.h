// The on-disk graph format: one file holds the adjacency structure of a directed graph in compressed sparse rows.
// Row u lists the vertices that u points to. docs/reference/csr-format.md specifies every byte.
//
//   [0, 64)             CsrHeader
//   offsets_position    vertex_count + 1 row offsets, 64-bit: row u is entries [offset[u], offset[u + 1])
//   columns_position    edge_count column indices, 32-bit
//
// Both arrays start at a multiple of 4096 bytes so that programs may read them with O_DIRECT. Column indices have 32
// bits because they are nearly all of the file, and all of the time of a program that reads it from storage: graphs of
// more than 2^32 vertices are refused.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pagerank {

inline constexpr std::array<char, 8> kCsrMagic = {'S', 'P', 'W', 'Y', 'C', 'S', 'R', '\n'};
inline constexpr uint32_t kCsrVersion = 1;
inline constexpr uint64_t kCsrAlignment = 4096;
inline constexpr uint64_t kMaxVertexCount = uint64_t{1} << 32;
inline constexpr uint64_t kMaxEdgeCount = uint64_t{1} << 56;  // no product or sum of positions overflows

struct CsrHeader {
  std::array<char, 8> magic;  // kCsrMagic
  uint32_t version;           // kCsrVersion
  uint32_t column_bytes;      // 4
  uint64_t vertex_count;      // at most kMaxVertexCount
  uint64_t edge_count;        // at most kMaxEdgeCount
  uint64_t offsets_position;  // in bytes from the start of the file
  uint64_t columns_position;  // in bytes from the start of the file
  uint64_t file_bytes;        // size of the whole file, so that a truncated one is recognized
  uint64_t checksum;          // header_checksum() of this header
};
static_assert(std::endian::native == std::endian::little, "the file's integers are little-endian");
static_assert(std::is_trivially_copyable_v<CsrHeader>);
static_assert(std::has_unique_object_representations_v<CsrHeader>, "no padding");
static_assert(sizeof(CsrHeader) == 64);
static_assert(offsetof(CsrHeader, version) == 8);
static_assert(offsetof(CsrHeader, column_bytes) == 12);
static_assert(offsetof(CsrHeader, vertex_count) == 16);
static_assert(offsetof(CsrHeader, edge_count) == 24);
static_assert(offsetof(CsrHeader, offsets_position) == 32);
static_assert(offsetof(CsrHeader, columns_position) == 40);
static_assert(offsetof(CsrHeader, file_bytes) == 48);
static_assert(offsetof(CsrHeader, checksum) == 56);

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

// Where the columns start depends on the number of vertices only, so a writer can put columns in place before it knows
// how many there will be.
constexpr uint64_t columns_position_of(uint64_t vertex_count) {
  const uint64_t offsets_end = kCsrAlignment + (vertex_count + 1) * sizeof(uint64_t);
  return (offsets_end + kCsrAlignment - 1) / kCsrAlignment * kCsrAlignment;
}

inline CsrHeader make_header(uint64_t vertex_count, uint64_t edge_count) {
  CsrHeader header = {};
  header.magic = kCsrMagic;
  header.version = kCsrVersion;
  header.column_bytes = sizeof(uint32_t);
  header.vertex_count = vertex_count;
  header.edge_count = edge_count;
  header.offsets_position = kCsrAlignment;
  header.columns_position = columns_position_of(vertex_count);
  header.file_bytes = header.columns_position + edge_count * sizeof(uint32_t);
  header.checksum = header_checksum(header);
  return header;
}

}  // namespace pagerank
