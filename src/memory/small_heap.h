// The small allocations of a rank: pieces of pages of the arena, so that they are unloaded as large allocations are.
//
// The arena charges and unloads by regions of 64 KiB and more, and the kernel allows some 65,000 mappings: neither is
// for a list of a million nodes. So small allocations share *chunks* of the arena, each one region. A chunk is cut into
// spans of pages; a span is one allocation, or a *slab* of pieces of one size class (four to a doubling, as in most
// allocators since Bonwick's, USENIX 1994). All that is known of them lies beside the chunk (chunk.h), so that a free
// neither reads nor writes the memory that it frees, which may be on storage.
//
// A chunk is at most an eighth of what there is, so that little more is charged than is used; one that has become free
// goes back to the arena, but for the last one.
//
// Each thread keeps some freed pieces for itself in a ThreadCache, without a lock.
//
// Thread-safe. Allocates nothing from malloc. The arena makes room and gives charge back without a lock of the heap's;
// the heap takes the arena's lock while it holds its own, never the other way round.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

#include "memory/arena.h"
#include "memory/chunk.h"
#include "memory/size_classes.h"
#include "memory/span_table.h"

namespace spillway::memory {

// What a thread has freed of one heap and keeps for its next allocations.
class ThreadCache {
 public:
  static constexpr size_t kMostBytes = 1024;
  static constexpr uint32_t kClasses = class_of(kMostBytes) + 1, kMostPieces = 16;

  // From now on nothing is kept: the thread ends.
  void close() { is_closed_ = true; }

 private:
  friend class SmallHeap;

  void* pieces_[kClasses][kMostPieces];
  uint8_t counts_[kClasses];
  bool is_closed_;
};

class SmallHeap {
 public:
  static constexpr uint64_t kMostBytes = SpanTable::kMostPages * kPageBytes;
  static constexpr uint64_t kMostAlignment = kPageBytes;

  constexpr explicit SmallHeap(Arena& arena) : arena_(arena) {}
  SmallHeap(const SmallHeap&) = delete;
  SmallHeap& operator=(const SmallHeap&) = delete;

  // nullptr when the system has no memory. REQUIRES: at most kMostBytes; `alignment` is a power of two, at most
  // kMostAlignment.
  void* allocate(size_t bytes, size_t alignment, ThreadCache& cache);

  // What allocate() gives, if the thread keeps such a piece; else nullptr. Neither locks nor makes room.
  void* take_kept(size_t bytes, size_t alignment, ThreadCache& cache) {
    const size_t padded = padded_bytes(bytes, alignment);
    if (padded > ThreadCache::kMostBytes) return nullptr;
    const uint32_t size_class = class_for(padded, alignment);
    if (size_class >= ThreadCache::kClasses || cache.counts_[size_class] == 0) return nullptr;
    return cache.pieces_[size_class][--cache.counts_[size_class]];
  }

  bool contains(const void* address) const { return arena_.chunk_around(address) != nullptr; }

  // REQUIRES: contains(address).
  void free(void* address, ThreadCache& cache);
  // What free() does, if the thread has a place for the piece; else false. Neither locks nor changes errno.
  bool keep(void* address, ThreadCache& cache);
  size_t usable_bytes(const void* address);
  // False when it is better moved.
  bool resize_in_place(const void* address, size_t bytes);

  // All that the thread keeps is for others again.
  void flush(ThreadCache& cache);

  // Gives up what nobody uses: pages that have been freed, so that they are not written to storage, and chunks.
  void tidy();

  // As Arena's.
  void lock_for_fork() { pthread_mutex_lock(&mutex_); }
  void unlock_after_fork_in_parent() { pthread_mutex_unlock(&mutex_); }
  void unlock_after_fork_in_child() { mutex_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; }

 private:
  static size_t padded_bytes(size_t bytes, size_t alignment) {
    return ((bytes == 0 ? 1 : bytes) + alignment - 1) & ~(alignment - 1);
  }
  static uint32_t class_for(size_t padded, size_t alignment) {
    uint32_t size_class = class_of(padded);
    while ((bytes_of_class(size_class) & (alignment - 1)) != 0) ++size_class;  // the next power of two at the latest
    return size_class;
  }
  bool grow(uint32_t pages);
  void give_back(PageRecord& span, Chunk*& to_release);
  void withdraw(Chunk& chunk, Chunk*& to_release);
  void release(Chunk* chunks);
  PageRecord* take_span(uint32_t pages);
  void* take_whole(uint32_t pages);
  uint32_t take_pieces(uint32_t size_class, void** pieces, uint32_t wanted);
  void put_piece(const void* address, Chunk*& to_release);
  void return_pieces(void* const* pieces, uint32_t count);
  PageRecord& span_of(const void* address) const;

  Arena& arena_;
  pthread_mutex_t mutex_ = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  SpanTable spans_;
  LinkedList<PageRecord> slabs_[kSizeClasses];  // that have free pieces
  Chunk* unused_ = nullptr;                     // all of it is free
};

}  // namespace spillway::memory
