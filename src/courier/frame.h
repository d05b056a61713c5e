// What couriers say to each other: the contract between the nodes of a job. All nodes run the same build on the same
// kind of processor, so numbers go as they lie in memory; the magic of the hello tells of one that does not.
//
//   Hello, then any number of: FrameHeader | uint32_t receivers[receiver_count] | part_bytes of data
//
// A connection is one-way. Of the messages that a sender has for the other node, one follows the other; those that the
// node in between passes on for others come beside them. Between the parts of a message, parts of others may come.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/error.h"
#include "node/segment_layout.h"
#include "routing/broadcast.h"

namespace spillway::courier {

inline constexpr uint32_t kCourierMagic = 0x53504c43;  // "SPLC"
inline constexpr uint32_t kCourierVersion = 2;
inline constexpr size_t kLeastSecretBytes = 16;
inline constexpr size_t kMostSecretBytes = 64;

// Every part of a message but its last has so many bytes: the store writes whole chunks.
inline constexpr uint64_t kPartBytes = node::kSpillChunkBytes;

// Of one frame: more ranks than any node has. What is for more ranks than these goes to each node by itself.
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

// So many parts has a message of `bytes`.
inline uint64_t parts_of(uint64_t bytes) { return bytes == 0 ? 1 : (bytes + kPartBytes - 1) / kPartBytes; }

// Of part `part` of a message of `bytes`.
inline uint64_t part_bytes_of(uint64_t bytes, uint64_t part) { return std::min(kPartBytes, bytes - part * kPartBytes); }

enum class FrameKind : uint32_t {
  first_part = 1,  // of a route of a message, or a word: with its envelope and its receivers
  next_part,       // of a route
  library,         // the data are a uint32_t: 1 when ranks of the node are in the MPI library, 0 when none is any more
};

// A message goes to its receivers in one or more ranges of its parts, its routes (routing/broadcast.h), each of which
// may come over another connection. Those of one route come in order. The receivers are those of the node that is
// spoken to and then, node by node in the order of the route, those of the nodes that it looks after. The envelope is
// that of message::Cell. `sender`, `number` and `first_part` name a route.
struct FrameHeader {
  FrameKind kind;
  uint32_t sender;          // rank of MPI_COMM_WORLD
  uint32_t receiver_count;  // ranks of MPI_COMM_WORLD that follow
  uint32_t part_bytes;
  uint64_t number;  // of the message, by its sender's courier
  uint64_t context;
  uint64_t bytes;  // of the whole message
  uint32_t first_part;
  uint32_t end_part;
  routing::Broadcast algorithm;
  uint32_t cell_kind;
  int32_t source;
  int32_t tag;
  uint32_t token;
  uint32_t unused;
};
static_assert(sizeof(FrameHeader) == 72);

inline constexpr uint64_t kMostFrameBytes = sizeof(FrameHeader) + kMostReceivers * sizeof(uint32_t) + kPartBytes;

}  // namespace spillway::courier
