#include "message/message_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace spillway::message {
namespace {

constexpr uint64_t kMemoryChunk = node::kMemoryChunkBytes;
constexpr uint64_t kSpillChunk = node::kSpillChunkBytes;

// Direct I/O needs aligned memory and user buffers are not: they pass through a buffer of this size. 1 MiB is where the
// device reaches its rate.
constexpr uint64_t kBounceBytes = 1 << 20;

uint64_t chunks_for(uint64_t bytes, uint64_t chunk_bytes) { return (bytes + chunk_bytes - 1) / chunk_bytes; }

}  // namespace

MessageStore::MessageStore(node::LocalRank& self, node::Ledger& ledger, int spill_descriptor,
                           const char* spill_directory)
    : self_(self),
      ledger_(ledger),
      memory_(self.segment(), self.header().memory_pool_offset, self.header().memory_chunk_count),
      spill_(self.segment(), self.header().spill_pool_offset, self.header().spill_chunk_count) {
  file_.adopt(spill_descriptor, spill_directory);
}

std::byte* MessageStore::memory_chunk(uint64_t chunk) const {
  return self_.segment().at(self_.header().chunks_offset + chunk * kMemoryChunk);
}

char* MessageStore::bounce_buffer() {
  if (bounce_ == nullptr) {
    void* buffer = mmap(nullptr, kBounceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (buffer == MAP_FAILED) base::fatal("cannot map a buffer of 1 MiB for messages on storage");
    bounce_ = static_cast<char*>(buffer);
  }
  bounce_is_resident_ = true;
  return bounce_;
}

template <typename Visit>
void MessageStore::for_each_piece(const ChunkPool& pool, const Payload& payload, uint64_t chunk_bytes,
                                  uint64_t piece_bytes, uint64_t limit, Visit visit) const {
  uint64_t offset = 0;
  for (uint32_t chunk = payload.first_chunk; offset < limit;) {
    const uint32_t first = chunk;
    uint64_t bytes = 0;
    uint32_t expected = chunk;
    while (chunk != node::kNoIndex && chunk == expected && bytes + chunk_bytes <= piece_bytes &&
           offset + bytes < limit) {
      bytes += chunk_bytes;
      ++expected;
      chunk = pool.next_of(chunk);
    }
    visit(first, offset, std::min(bytes, limit - offset));
    offset += bytes;
  }
}

bool MessageStore::put_in_memory(const void* data, Payload& payload, uint32_t readers) {
  const uint64_t count = chunks_for(payload.bytes, kMemoryChunk);
  const uint64_t fresh = memory_.fresh_needed(count);
  if (fresh != 0 && !ledger_.charge_store(fresh * kMemoryChunk)) return false;
  const ChunkPool::Chain chain = memory_.take(count, readers, fresh);
  const uint64_t unused = fresh - chain.fresh_count;
  if (unused != 0) ledger_.give_back_store(unused * kMemoryChunk);
  if (chain.first == node::kNoIndex) return false;
  payload.place = Place::memory;
  payload.first_chunk = chain.first;
  for_each_piece(memory_, payload, kMemoryChunk, UINT64_MAX, payload.bytes,
                 [&](uint32_t chunk, uint64_t offset, uint64_t bytes) {
                   memcpy(memory_chunk(chunk), static_cast<const char*>(data) + offset, bytes);
                 });
  memory_.close(chain.first);
  return true;
}

uint32_t MessageStore::take_storage(uint64_t bytes, uint32_t readers) {
  const ChunkPool::Chain chain = spill_.take(chunks_for(bytes, kSpillChunk), readers, UINT64_MAX >> 1);
  if (chain.first == node::kNoIndex) base::fatal("more than 4 TiB of messages wait for their receivers on this node");
  return chain.first;
}

void MessageStore::put_in_storage(const void* data, Payload& payload, uint32_t readers) {
  payload.place = Place::storage;
  payload.first_chunk = take_storage(payload.bytes, readers);
  char* bounce = bounce_buffer();
  for_each_piece(
      spill_, payload, kSpillChunk, kBounceBytes, payload.bytes, [&](uint32_t chunk, uint64_t offset, uint64_t bytes) {
        const uint64_t padded = (bytes + storage::kBlockBytes - 1) / storage::kBlockBytes * storage::kBlockBytes;
        memcpy(bounce, static_cast<const char*>(data) + offset, bytes);
        memset(bounce + bytes, 0, padded - bytes);
        file_.write(bounce, padded, chunk * kSpillChunk);
      });
  spill_.close(payload.first_chunk);
  self_.record().statistics.spilled_bytes.fetch_add(payload.bytes);
}

Payload MessageStore::put(const void* data, uint64_t bytes, uint32_t readers) {
  Payload payload;
  payload.bytes = bytes;
  if (!put_in_memory(data, payload, readers)) put_in_storage(data, payload, readers);
  return payload;
}

void MessageStore::copy_out(const Payload& payload, void* out, uint64_t bytes) {
  auto* to = static_cast<char*>(out);
  Payload there = payload;
  if (payload.place == Place::memory) {
    const uint32_t moved_to = memory_.open(payload.first_chunk);
    if (moved_to == node::kNoIndex) {
      for_each_piece(
          memory_, payload, kMemoryChunk, UINT64_MAX, bytes,
          [&](uint32_t chunk, uint64_t offset, uint64_t part) { memcpy(to + offset, memory_chunk(chunk), part); });
      memory_.close(payload.first_chunk);
      return;
    }
    there = Payload{Place::storage, moved_to, payload.bytes};
  }
  copy_from_storage(there, to, bytes);
}

void MessageStore::copy_from_storage(const Payload& payload, char* out, uint64_t bytes) {
  char* bounce = bounce_buffer();
  for_each_piece(
      spill_, payload, kSpillChunk, kBounceBytes, bytes, [&](uint32_t chunk, uint64_t offset, uint64_t part) {
        const uint64_t padded = (part + storage::kBlockBytes - 1) / storage::kBlockBytes * storage::kBlockBytes;
        file_.read(bounce, padded, chunk * kSpillChunk);
        memcpy(out + offset, bounce, part);
      });
}

void MessageStore::release(const Payload& payload) {
  uint32_t on_storage = payload.place == Place::storage ? payload.first_chunk : node::kNoIndex;
  if (payload.place == Place::memory) on_storage = memory_.release(payload.first_chunk);
  if (on_storage != node::kNoIndex) spill_.release(on_storage);
}

void MessageStore::copy_to_storage(const ChunkPool::Move& move, uint32_t target) {
  char* bounce = bounce_buffer();
  uint32_t from = move.first;
  for (uint32_t to = target; to != node::kNoIndex; to = spill_.next_of(to)) {
    uint64_t filled = 0;
    for (; filled < kSpillChunk && from != node::kNoIndex; from = memory_.next_of(from), filled += kMemoryChunk)
      memcpy(bounce + filled, memory_chunk(from), kMemoryChunk);
    file_.write(bounce, filled, to * kSpillChunk);
  }
  spill_.close(target);
}

uint64_t MessageStore::spill(uint64_t wanted_bytes) {
  uint64_t freed_chunks = 0, moved_firsts = 0;
  ChunkPool::Move move;
  for (uint64_t from = 0; freed_chunks * kMemoryChunk < wanted_bytes; from = move.first + 1) {
    move = memory_.begin_move(from);
    if (move.first == node::kNoIndex) break;
    const uint32_t target = take_storage(move.count * kMemoryChunk, 1);
    copy_to_storage(move, target);
    if (!memory_.finish_move(move, target)) {
      spill_.release(target);
      continue;
    }
    madvise(memory_chunk(move.first), kMemoryChunk, MADV_REMOVE);
    freed_chunks += move.count;
    ++moved_firsts;
    self_.record().statistics.spilled_bytes.fetch_add(move.count * kMemoryChunk);
  }
  if (moved_firsts != 0) ledger_.give_back_store(moved_firsts * kMemoryChunk);
  return moved_firsts * kMemoryChunk + trim();
}

void MessageStore::release_buffer() {
  if (bounce_is_resident_) madvise(bounce_, kBounceBytes, MADV_DONTNEED);
  bounce_is_resident_ = false;
}

uint64_t MessageStore::trim() {
  const uint64_t chunks = memory_.trim(
      [&](uint64_t first, uint64_t count) { madvise(memory_chunk(first), count * kMemoryChunk, MADV_REMOVE); });
  if (chunks != 0) ledger_.give_back_store(chunks * kMemoryChunk);
  return chunks * kMemoryChunk;
}

}  // namespace spillway::message
