// A pool of equal chunks that the ranks of a node share: those of the message store's memory, and those of its spill
// file.
//
// A payload is a chain of chunks, so the pool cannot fragment. Allocation is lowest chunk first, which keeps payloads
// in few pieces and lets the unused end of the memory be given back. The pool knows numbers only, not what a chunk's
// bytes are.
//
// What a chain holds can be moved elsewhere while its readers wait: its first chunk then stands for the new place, and
// the memory of all of its chunks is free. Nobody waits for a move: it begins only while nobody copies to or from the
// chain (its *users*), and is given up when somebody has begun meanwhile.
#pragma once

#include <cstdint>

#include "node/segment.h"

namespace spillway::message {

class ChunkPool {
 public:
  // A view of the tables at `offset` of the segment, which the agent has made for `chunk_count` chunks.
  ChunkPool(node::Segment& segment, uint64_t offset, uint64_t chunk_count);

  struct Chain {
    uint32_t first = node::kNoIndex;
    uint32_t fresh_count = 0;  // chunks that had no memory before: touch marks them
  };

  // A chain of `count` chunks, whose first user is the caller, with `references` on it, or first == kNoIndex when there
  // are not as many. At most `fresh_limit` chunks may be fresh ones.
  Chain take(uint64_t count, uint32_t references, uint64_t fresh_limit);

  // How many fresh chunks taking `count` would need now; others may take chunks in between.
  uint64_t fresh_needed(uint64_t count);

  uint32_t next_of(uint32_t chunk) const { return next_[chunk]; }

  // Becomes a user of the chain, unless it has been moved: then returns where to, else kNoIndex.
  uint32_t open(uint32_t first);

  // The caller does not use the chain's chunks any more.
  void close(uint32_t first);

  // Drops one reference to the chain; its chunks are free again with the last one. Returns the place that it had been
  // moved to, which is free too, or kNoIndex.
  uint32_t release(uint32_t first);

  struct Move {
    uint32_t first = node::kNoIndex;
    uint64_t count = 0;  // chunks
  };

  // The next chain from chunk `from` on that nobody uses, with the caller as its user and one more reference;
  // first == kNoIndex when there is none.
  Move begin_move(uint64_t from);

  // `target` holds what the chain held. Returns false when the chain was used or given up meanwhile: it stays as it is,
  // and `target` is of no use. Else the first chunk has been passed to `give_back(chunk)`: its memory is not counted
  // any more. That is done under the lock, since whoever releases the chain next may take this chunk again.
  template <typename GiveBack>
  bool finish_move(const Move& move, uint32_t target, GiveBack give_back);

  // Finds runs of free chunks that have memory, marks them fresh and passes them to `give_back(first, count)`; returns
  // their number.
  template <typename GiveBack>
  uint64_t trim(GiveBack give_back);

  uint64_t used_chunks() const { return state_->used; }

 private:
  struct State {
    pthread_mutex_t lock;
    uint64_t used;         // chunks in chains
    uint64_t moved;        // first chunks of chains that were moved: taken, but without memory
    uint64_t resident;     // chunks with memory behind them: used ones and free ones not trimmed
    uint64_t search_from;  // no word of the bitmap before this one has a free chunk
  };

  class Lock {
   public:
    explicit Lock(State& state) : state_(state) { node::lock_shared_mutex(state_.lock); }
    ~Lock() { pthread_mutex_unlock(&state_.lock); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    State& state_;
  };

  void free_chunks(uint32_t first);  // [lock]

  uint64_t count_;
  State* state_;
  uint64_t* used_bits_;
  uint64_t* resident_bits_;
  uint32_t* next_;
  // Of a chain, at its first chunk; changed under the lock.
  uint32_t* references_;  // 0 at all other chunks
  uint32_t* users_;
  uint32_t* moved_to_;
};

template <typename GiveBack>
bool ChunkPool::finish_move(const Move& move, uint32_t target, GiveBack give_back) {
  Lock lock(*state_);
  const uint32_t first = move.first;
  --users_[first];
  if (--references_[first] == 0) {
    free_chunks(first);
    return false;
  }
  if (users_[first] != 0) return false;
  free_chunks(first);
  const uint64_t mask = 1ull << (first % 64);
  used_bits_[first / 64] |= mask;
  resident_bits_[first / 64] &= ~mask;
  --state_->resident;
  ++state_->moved;
  next_[first] = node::kNoIndex;
  moved_to_[first] = target;
  give_back(first);
  return true;
}

template <typename GiveBack>
uint64_t ChunkPool::trim(GiveBack give_back) {
  Lock lock(*state_);
  uint64_t trimmed = 0;
  if (state_->resident == state_->used) return 0;
  uint64_t run_begin = 0, run_length = 0;
  const auto end_run = [&] {
    if (run_length != 0) give_back(run_begin, run_length);
    trimmed += run_length;
    run_length = 0;
  };
  for (uint64_t word = 0; word < count_ / 64; ++word) {
    uint64_t unused = resident_bits_[word] & ~used_bits_[word];
    resident_bits_[word] &= used_bits_[word];
    while (unused != 0) {
      const auto bit = static_cast<uint64_t>(__builtin_ctzll(unused));
      unused &= unused - 1;
      const uint64_t chunk = word * 64 + bit;
      if (run_begin + run_length != chunk || run_length == 0) {
        end_run();
        run_begin = chunk;
      }
      ++run_length;
    }
  }
  end_run();
  state_->resident -= trimmed;
  return trimmed;
}

}  // namespace spillway::message
