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

uint64_t whole_blocks(uint64_t bytes) {
  return (bytes + storage::kBlockBytes - 1) / storage::kBlockBytes * storage::kBlockBytes;
}

}  // namespace

MessageStore::MessageStore(node::LocalRank& self, node::Ledger& ledger, const int* spill_descriptors,
                           const base::SpillDirectories& directories)
    : self_(self),
      ledger_(ledger),
      memory_(self.segment(), self.header().memory_pool_offset, self.header().memory_chunk_count),
      spill_(self.segment(), self.header().spill_pool_offset, self.header().spill_chunk_count) {
  file_.adopt(spill_descriptors, directories);
  const uint64_t checksums = self.header().checksums_offset;
  if (checksums != 0) checksums_.initialise(reinterpret_cast<uint64_t*>(self.segment().at(checksums)));
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

void MessageStore::write_checked(const char* data, uint64_t bytes, uint64_t place) {
  for (uint64_t done = 0; done < bytes; done += storage::kBlockBytes) checksums_.replace(place + done, data + done);
  file_.write(data, bytes, place);
}

void MessageStore::read_checked(char* data, uint64_t bytes, uint64_t place) {
  file_.read(data, bytes, place);
  const uint64_t damaged = checksums_.damaged_page(place, data, bytes);
  if (damaged != storage::PageChecksums::kNowhere) file_.fail_for_damage(damaged);
}

template <typename Visit>
void MessageStore::for_each_piece(const ChunkPool& pool, Cursor& at, uint64_t chunk_bytes, uint64_t piece_bytes,
                                  uint64_t bytes, Visit visit) {
  while (bytes != 0) {
    const uint64_t first = at.chunk * chunk_bytes, begin = first + at.offset % chunk_bytes;
    uint64_t end = first + chunk_bytes;
    uint32_t next = pool.next_of(at.chunk);
    while (end - begin < bytes && next * chunk_bytes == end && end + chunk_bytes - first <= piece_bytes) {
      at.chunk = next;
      end += chunk_bytes;
      next = pool.next_of(next);
    }
    const uint64_t part = std::min(bytes, end - begin);
    visit(begin, part);
    if (begin + part == end) at.chunk = next;
    at.offset += part;
    bytes -= part;
  }
}

// The first chunk, or kNoIndex when there is no room.
uint32_t MessageStore::take_memory(uint64_t bytes, uint32_t readers) {
  const uint64_t count = chunks_for(bytes, kMemoryChunk);
  const uint64_t fresh = memory_.fresh_needed(count);
  if (fresh != 0 && !ledger_.charge_store(fresh * kMemoryChunk)) return node::kNoIndex;
  const ChunkPool::Chain chain = memory_.take(count, readers, fresh);
  const uint64_t unused = fresh - chain.fresh_count;
  if (unused != 0) ledger_.give_back_store(unused * kMemoryChunk);
  return chain.first;
}

uint32_t MessageStore::take_storage(uint64_t bytes, uint32_t readers) {
  const ChunkPool::Chain chain = spill_.take(chunks_for(bytes, kSpillChunk), readers, UINT64_MAX >> 1);
  if (chain.first == node::kNoIndex) base::fatal("more than 4 TiB of messages wait for their receivers on this node");
  return chain.first;
}

MessageStore::Filling MessageStore::reserve(uint64_t bytes, uint32_t readers) {
  Payload payload{Place::memory, take_memory(bytes, readers), bytes};
  if (payload.first_chunk == node::kNoIndex) {
    payload = Payload{Place::storage, take_storage(bytes, readers), bytes};
    self_.record().statistics.spilled_bytes.fetch_add(bytes);
  }
  return Filling{payload, Cursor{payload.first_chunk, 0}};
}

MessageStore::Cursor MessageStore::at(const ChunkPool& pool, uint64_t chunk_bytes, uint32_t first_chunk,
                                      uint64_t offset) {
  Cursor cursor{first_chunk, offset};
  for (uint64_t chunks = offset / chunk_bytes; chunks != 0; --chunks) cursor.chunk = pool.next_of(cursor.chunk);
  return cursor;
}

MessageStore::Filling MessageStore::from(const Filling& whole, uint64_t offset) const {
  const Payload& payload = whole.payload;
  return Filling{payload, payload.place == Place::memory ? at(memory_, kMemoryChunk, payload.first_chunk, offset)
                                                         : at(spill_, kSpillChunk, payload.first_chunk, offset)};
}

void MessageStore::fill(Filling& filling, ByteStream& data, uint64_t bytes) {
  if (filling.payload.place == Place::storage) return copy_in_storage(filling.next, data, bytes);
  for_each_piece(memory_, filling.next, kMemoryChunk, UINT64_MAX, bytes,
                 [&](uint64_t place, uint64_t part) { data.read(memory_chunk(0) + place, part); });
}

void MessageStore::copy_in_storage(Cursor& to, ByteStream& data, uint64_t bytes) {
  char* bounce = bounce_buffer();
  for_each_piece(spill_, to, kSpillChunk, kBounceBytes, bytes, [&](uint64_t place, uint64_t part) {
    const uint64_t padded = whole_blocks(part);
    data.read(bounce, part);
    memset(bounce + part, 0, padded - part);
    write_checked(bounce, padded, place);
  });
}

void MessageStore::finish(const Filling& filling) {
  const Payload& payload = filling.payload;
  (payload.place == Place::memory ? memory_ : spill_).close(payload.first_chunk);
}

Payload MessageStore::put(ByteStream& data, uint64_t bytes, uint32_t readers) {
  Filling filling = reserve(bytes, readers);
  fill(filling, data, bytes);
  finish(filling);
  return filling.payload;
}

Payload MessageStore::put(const void* data, uint64_t bytes, uint32_t readers) {
  MemoryStream stream(data);
  return put(stream, bytes, readers);
}

void MessageStore::copy_out(const Payload& payload, void* out, uint64_t bytes) {
  PayloadStream(*this, payload).read(out, bytes);
}

void MessageStore::copy_from_memory(Cursor& from, std::byte* out, uint64_t bytes) {
  for_each_piece(memory_, from, kMemoryChunk, UINT64_MAX, bytes, [&](uint64_t place, uint64_t part) {
    memcpy(out, memory_chunk(0) + place, part);
    out += part;
  });
}

void MessageStore::copy_from_storage(Cursor& from, std::byte* out, uint64_t bytes) {
  char* bounce = bounce_buffer();
  for_each_piece(spill_, from, kSpillChunk, kBounceBytes, bytes, [&](uint64_t place, uint64_t part) {
    const uint64_t in_block = place % storage::kBlockBytes;
    read_checked(bounce, whole_blocks(in_block + part), place - in_block);
    memcpy(out, bounce + in_block, part);
    out += part;
  });
}

void PayloadStream::read(void* out, uint64_t bytes) {
  auto* to = static_cast<std::byte*>(out);
  if (place_ == Place::memory) {
    const uint32_t moved_to = store_.memory_.open(first_chunk_);
    if (moved_to == node::kNoIndex) {
      if (next_.chunk == node::kNoIndex)
        next_ = MessageStore::at(store_.memory_, kMemoryChunk, first_chunk_, next_.offset);
      store_.copy_from_memory(next_, to, bytes);
      store_.memory_.close(first_chunk_);
      return;
    }
    place_ = Place::storage;
    first_chunk_ = moved_to;
    next_.chunk = node::kNoIndex;
  }
  if (next_.chunk == node::kNoIndex) next_ = MessageStore::at(store_.spill_, kSpillChunk, first_chunk_, next_.offset);
  store_.copy_from_storage(next_, to, bytes);
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
    write_checked(bounce, filled, to * kSpillChunk);
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
    const auto give_back = [&](uint32_t chunk) { madvise(memory_chunk(chunk), kMemoryChunk, MADV_REMOVE); };
    if (!memory_.finish_move(move, target, give_back)) {
      spill_.release(target);
      continue;
    }
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
