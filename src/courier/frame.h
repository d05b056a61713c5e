// What couriers say to each other: the contract between the nodes of a job. All nodes run the same build on the same
// kind of processor, so numbers go as they lie in memory; the magic of the hello tells of one that does not.
//
//   Hello, then any number of: FrameHeader | uint32_t receivers[receiver_count] | part_bytes of data
//
// A connection is one-way. The messages of a sender follow each other; between the parts of one, messages of other
// senders may come.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "node/segment_layout.h"

namespace spillway::courier {

inline constexpr uint32_t kCourierMagic = 0x53504c43;  // "SPLC"
inline constexpr uint32_t kCourierVersion = 1;
inline constexpr size_t kLeastSecretBytes = 16;
inline constexpr size_t kMostSecretBytes = 64;

// Every part of a message but its last has so many bytes: the store writes whole chunks.
inline constexpr uint64_t kPartBytes = node::kSpillChunkBytes;

// Of one frame: more ranks than any node has.
inline constexpr uint64_t kMostReceivers = 1 << 14;

struct Hello {
  uint32_t magic;
  uint32_t version;
  uint32_t node;  // that has connected
  uint32_t secret_bytes;
  char secret[kMostSecretBytes];  // of the job; zeros behind it
};
static_assert(sizeof(Hello) == 80);

inline Hello make_hello(uint32_t node, const std::string& secret) {
  SPILLWAY_CHECK(secret.size() >= kLeastSecretBytes && secret.size() <= kMostSecretBytes);
  Hello hello{kCourierMagic, kCourierVersion, node, static_cast<uint32_t>(secret.size()), {}};
  memcpy(hello.secret, secret.data(), secret.size());
  return hello;
}

// Compares the whole secret in any case, so that the time taken does not tell how much of it is right.
inline bool is_of_same_job(const Hello& one, const Hello& other) {
  unsigned difference = one.secret_bytes ^ other.secret_bytes;
  for (size_t i = 0; i < kMostSecretBytes; ++i) difference |= static_cast<unsigned>(one.secret[i] ^ other.secret[i]);
  return one.magic == other.magic && one.version == other.version && difference == 0;
}

enum class FrameKind : uint32_t {
  first_part = 1,  // of a message, or a word: with its envelope and its receivers
  next_part,       // of the sender's last message: without
  library,         // the data are a uint32_t: 1 when ranks of the node are in the MPI library, 0 when none is any more
};

// The envelope is that of message::Cell.
struct FrameHeader {
  FrameKind kind;
  uint32_t sender;          // rank of MPI_COMM_WORLD
  uint32_t receiver_count;  // ranks of MPI_COMM_WORLD that follow, all of the node that is spoken to
  uint32_t part_bytes;
  uint64_t context;
  uint64_t bytes;  // of the whole message
  uint32_t cell_kind;
  int32_t source;
  int32_t tag;
  uint32_t token;
};
static_assert(sizeof(FrameHeader) == 48);

inline constexpr uint64_t kMostFrameBytes = sizeof(FrameHeader) + kMostReceivers * sizeof(uint32_t) + kPartBytes;

}  // namespace spillway::courier
