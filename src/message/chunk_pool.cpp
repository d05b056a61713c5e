#include "message/chunk_pool.h"

#include <algorithm>

#include "base/error.h"

namespace spillway::message {
namespace {
constexpr uint64_t kPage = 4096;
}

ChunkPool::ChunkPool(node::Segment& segment, uint64_t offset, uint64_t chunk_count) : count_(chunk_count / 64 * 64) {
  static_assert(sizeof(State) <= kPage);
  const uint64_t bitmap_bytes = (chunk_count + 63) / 64 * 8;
  state_ = reinterpret_cast<State*>(segment.at(offset));
  used_bits_ = reinterpret_cast<uint64_t*>(segment.at(offset + kPage));
  resident_bits_ = reinterpret_cast<uint64_t*>(segment.at(offset + kPage + bitmap_bytes));
  next_ = reinterpret_cast<uint32_t*>(segment.at(offset + kPage + 2 * bitmap_bytes));
  references_ = next_ + chunk_count;
  users_ = references_ + chunk_count;
  moved_to_ = users_ + chunk_count;
}

uint64_t ChunkPool::fresh_needed(uint64_t count) {
  Lock lock(*state_);
  const uint64_t free_resident = state_->resident - state_->used;
  return count > free_resident ? count - free_resident : 0;
}

ChunkPool::Chain ChunkPool::take(uint64_t count, uint32_t references, uint64_t fresh_limit) {
  Lock lock(*state_);
  Chain chain;
  if (count == 0 || state_->used + state_->moved + count > count_) return chain;
  if (state_->used + count > state_->resident + fresh_limit) return chain;
  // Recycled chunks first when fresh ones are short, so that the limit holds; both passes go from low to high.
  const bool may_use_fresh = fresh_limit != 0;
  uint32_t* link = &chain.first;
  uint64_t taken = 0;
  for (int pass = may_use_fresh && fresh_limit >= count ? 1 : 0; pass < 2 && taken < count; ++pass) {
    for (uint64_t word = state_->search_from; word < count_ / 64 && taken < count; ++word) {
      uint64_t candidates = ~used_bits_[word] & (pass == 0 ? resident_bits_[word] : ~0ull);
      while (candidates != 0 && taken < count) {
        const auto bit = static_cast<uint64_t>(__builtin_ctzll(candidates));
        candidates &= candidates - 1;
        const uint64_t mask = 1ull << bit;
        used_bits_[word] |= mask;
        if (!(resident_bits_[word] & mask)) {
          resident_bits_[word] |= mask;
          ++chain.fresh_count;
        }
        *link = static_cast<uint32_t>(word * 64 + bit);
        references_[*link] = 0;
        link = &next_[*link];
        ++taken;
      }
    }
  }
  *link = node::kNoIndex;
  SPILLWAY_CHECK(taken == count);
  references_[chain.first] = references;
  users_[chain.first] = 1;
  moved_to_[chain.first] = node::kNoIndex;
  state_->used += count;
  state_->resident += chain.fresh_count;
  while (state_->search_from < count_ / 64 && used_bits_[state_->search_from] == ~0ull) ++state_->search_from;
  return chain;
}

uint32_t ChunkPool::open(uint32_t first) {
  Lock lock(*state_);
  if (moved_to_[first] == node::kNoIndex) ++users_[first];
  return moved_to_[first];
}

void ChunkPool::close(uint32_t first) {
  Lock lock(*state_);
  SPILLWAY_CHECK(users_[first] > 0);
  --users_[first];
}

void ChunkPool::free_chunks(uint32_t first) {
  for (uint32_t chunk = first; chunk != node::kNoIndex; chunk = next_[chunk]) {
    used_bits_[chunk / 64] &= ~(1ull << (chunk % 64));
    state_->search_from = std::min<uint64_t>(state_->search_from, chunk / 64);
    --state_->used;
  }
}

uint32_t ChunkPool::release(uint32_t first) {
  Lock lock(*state_);
  SPILLWAY_CHECK(references_[first] > 0);
  if (--references_[first] > 0) return node::kNoIndex;
  const uint32_t moved_to = moved_to_[first];
  if (moved_to != node::kNoIndex) {
    --state_->moved;
    ++state_->used;  // as free_chunks takes it for one
  }
  free_chunks(first);
  return moved_to;
}

ChunkPool::Move ChunkPool::begin_move(uint64_t from) {
  Lock lock(*state_);
  Move move;
  for (uint64_t chunk = from; chunk < count_; ++chunk) {
    if (used_bits_[chunk / 64] == 0) {
      chunk |= 63;
      continue;
    }
    const bool is_first = (used_bits_[chunk / 64] >> (chunk % 64) & 1) != 0 && references_[chunk] != 0;
    if (!is_first || users_[chunk] != 0 || moved_to_[chunk] != node::kNoIndex) continue;
    move.first = static_cast<uint32_t>(chunk);
    for (uint32_t each = move.first; each != node::kNoIndex; each = next_[each]) ++move.count;
    ++users_[chunk];
    ++references_[chunk];
    return move;
  }
  return move;
}

}  // namespace spillway::message
