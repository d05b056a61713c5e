// Where payloads wait between sender and receiver (BDMPI 5.3): in the node's shared memory while the budget has room,
// else in the node's message spill file, where they also go when memory is wanted later. A payload is written once and
// read by each of its receivers; its space is free again with the last of them.
//
// Between a put and its last release a payload belongs to nobody's process: sender and receiver may both be asleep.
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/chunk_pool.h"
#include "node/ledger.h"
#include "storage/spill_file.h"

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
  MessageStore(node::LocalRank& self, node::Ledger& ledger, int spill_descriptor, const char* spill_directory);

  // Keeps a copy of `bytes` > 0 at `data` for `readers` receivers.
  Payload put(const void* data, uint64_t bytes, uint32_t readers = 1);

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
  uint32_t take_storage(uint64_t bytes, uint32_t readers);
  void copy_from_storage(const Payload& payload, char* out, uint64_t bytes);
  void copy_to_storage(const ChunkPool::Move& move, uint32_t target);
  bool put_in_memory(const void* data, Payload& payload, uint32_t readers);
  void put_in_storage(const void* data, Payload& payload, uint32_t readers);
  std::byte* memory_chunk(uint64_t chunk) const;
  char* bounce_buffer();

  // Calls visit(first_chunk, offset_in_payload, bytes) for each piece of adjacent chunks, up to `piece_bytes` long.
  template <typename Visit>
  void for_each_piece(const ChunkPool& pool, const Payload& payload, uint64_t chunk_bytes, uint64_t piece_bytes,
                      uint64_t limit, Visit visit) const;

  node::LocalRank& self_;
  node::Ledger& ledger_;
  ChunkPool memory_;
  ChunkPool spill_;
  storage::SpillFile file_;
  char* bounce_ = nullptr;
  bool bounce_is_resident_ = false;
};

}  // namespace spillway::message
