// The chunks that small allocations are made in: when they have to stay in memory, as what others use does, and what is
// free of them.
#include <utility>

#include "memory/arena.h"
#include "memory/blocked_signals.h"
#include "memory/mutex_holder.h"

namespace spillway::memory {

// What keeps them may begin and end at any time, but no fork is carried out while somebody has the mutex.
void Arena::update_chunks_stay() {
  if (std::exchange(chunks_stay_, are_threads_trusted_ || children_.is_any_alive()) != chunks_stay_) ++changes_;
}

bool Arena::must_chunks_stay() {
  MutexHolder hold(mutex_);
  update_chunks_stay();
  return chunks_stay_;
}

uint64_t Arena::bytes_used_by_others() {
  MutexHolder hold(mutex_);
  update_chunks_stay();
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < region_count_; ++i) {
    const Region& region = regions_[i];
    if (region.begin != 0 && region.is_counted && !is_spare(region) && is_used_by_others(region)) bytes += region.bytes;
  }
  return bytes;
}

bool Arena::discard_of_chunk(const Pages& pages) {
  const BlockedSignals no_handlers;
  MutexHolder hold(mutex_);
  update_chunks_stay();
  const Region& region = regions_[region_of_granule_[(pages.begin - begin_) / kGranuleBytes] - 1];
  if (is_used_by_others(region)) return false;
  discard_pages(region, pages);
  return true;
}

}  // namespace spillway::memory
