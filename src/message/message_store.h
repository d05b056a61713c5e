// Where payloads wait between sender and receiver (BDMPI 5.3): in the node's shared memory while the budget has room,
// else in the node's message spill file, where they also go when memory is wanted later. A payload is written once and
// read by each of its receivers; its space is free again with the last of them.
//
// Between a put and its last release a payload belongs to nobody's process: sender and receiver may both be asleep.
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/byte_stream.h"
#include "message/chunk_pool.h"
#include "node/ledger.h"
#include "storage/page_checksums.h"
#include "storage/striped_file.h"

namespace spillway::message {

enum class Place : uint32_t { none, memory, storage };

// A payload in the store; trivially copyable, travels in envelopes.
struct Payload {
  Place place = Place::none;
  uint32_t first_chunk = node::kNoIndex;
  uint64_t bytes = 0;
};

class MessageStore {
 public:
  MessageStore(node::LocalRank& self, node::Ledger& ledger, const int* spill_descriptors,
               const base::SpillDirectories& directories);

  // Keeps `bytes` > 0 of `data`, which is no payload of this store, for `readers` receivers.
  Payload put(ByteStream& data, uint64_t bytes, uint32_t readers = 1);
  Payload put(const void* data, uint64_t bytes, uint32_t readers = 1);

  // A place in a payload, and the chunk that it is in.
  struct Cursor {
    uint32_t chunk = node::kNoIndex;
    uint64_t offset = 0;
  };

  // A payload whose bytes come in parts.
  struct Filling {
    Payload payload;
    Cursor next;
  };

  // put() in steps: takes the place, copies the next `bytes` of `data` there, and lets the payload be read. Every part
  // but the last is a multiple of node::kSpillChunkBytes.
  Filling reserve(uint64_t bytes, uint32_t readers = 1);
  // The same place from byte `offset` on, a multiple of node::kSpillChunkBytes: several may fill one payload.
  Filling from(const Filling& whole, uint64_t offset) const;
  void fill(Filling& filling, ByteStream& data, uint64_t bytes);
  void finish(const Filling& filling);

  // Copies the first `bytes` of the payload to `out`.
  void copy_out(const Payload& payload, void* out, uint64_t bytes);

  // One receiver is done with the payload.
  void release(const Payload& payload);

  // Gives memory of free chunks back to the system. Returns its bytes.
  uint64_t trim();

  // Moves payloads that wait in memory to storage, until `wanted_bytes` of memory are given back to the system or there
  // is nothing left to move. Returns the bytes given back.
  uint64_t spill(uint64_t wanted_bytes);

  // Gives the memory of the buffer for direct I/O back until it is needed again: a megabyte per rank adds up.
  void release_buffer();

 private:
  friend class PayloadStream;

  uint32_t take_memory(uint64_t bytes, uint32_t readers);
  uint32_t take_storage(uint64_t bytes, uint32_t readers);
  void copy_from_memory(Cursor& from, std::byte* out, uint64_t bytes);
  void copy_from_storage(Cursor& from, std::byte* out, uint64_t bytes);
  void copy_to_storage(const ChunkPool::Move& move, uint32_t target);
  void copy_in_storage(Cursor& to, ByteStream& data, uint64_t bytes);
  void write_checked(const char* data, uint64_t bytes, uint64_t place);
  void read_checked(char* data, uint64_t bytes, uint64_t place);
  static Cursor at(const ChunkPool& pool, uint64_t chunk_bytes, uint32_t first_chunk, uint64_t offset);
  std::byte* memory_chunk(uint64_t chunk) const;
  char* bounce_buffer();

  // Moves the cursor on by `bytes` and calls visit(place_in_pool, bytes) for each piece of adjacent chunks; what a
  // piece lies in is at most `piece_bytes` long.
  template <typename Visit>
  static void for_each_piece(const ChunkPool& pool, Cursor& at, uint64_t chunk_bytes, uint64_t piece_bytes,
                             uint64_t bytes, Visit visit);

  node::LocalRank& self_;
  node::Ledger& ledger_;
  ChunkPool memory_;
  ChunkPool spill_;
  storage::StripedFile file_;
  storage::PageChecksums checksums_;
  char* bounce_ = nullptr;
  bool bounce_is_resident_ = false;
};

// Reads a payload from byte `begin`, a multiple of node::kSpillChunkBytes, to its end. It may move to storage in
// between. It may be read while it is being filled, as far as that has been done.
class PayloadStream final : public ByteStream {
 public:
  PayloadStream(MessageStore& store, const Payload& payload, uint64_t begin = 0)
      : store_(store),
        place_(payload.place),
        first_chunk_(payload.first_chunk),
        next_{begin == 0 ? payload.first_chunk : node::kNoIndex, begin} {}
  void read(void* out, uint64_t bytes) override;

 private:
  MessageStore& store_;
  Place place_;
  uint32_t first_chunk_;
  MessageStore::Cursor next_;  // its chunk is to be looked for when it is kNoIndex
};

}  // namespace spillway::message
