// Wakes a PE that sleeps until its memory changes. Lies at the beginning of each heap, in memory that the node's PEs
// share, with what else PEs say to each other there.
//
// Who waits says so before it looks at the memory for the last time, and who writes looks for that after it has
// written: one of the two sees the other.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/futex.h"

namespace spillway::pgas {

struct Bell {
  static constexpr uint64_t kBytes = 4096;  // of the heap: what programs get begins on a page

  std::atomic<uint32_t> is_awaited;
  std::atomic<uint32_t> rings;
  // Whose turn it is to change this PE's numbers: a PE's number and one, or 0. Changed by MPI only.
  uint64_t turn;

  // After a write to that PE's memory.
  void ring() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (is_awaited.load(std::memory_order_relaxed) == 0) return;
    rings.fetch_add(1);
    base::futex_wake(rings);
  }

  // Sleeps until a ring, for `timeout_ns` at most, unless `is_there()` holds already.
  template <typename Condition>
  void sleep(Condition is_there, uint64_t timeout_ns) {
    const uint32_t heard = rings.load();
    is_awaited.store(1);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!is_there()) base::futex_wait(rings, heard, timeout_ns);
    is_awaited.store(0);
  }
};
static_assert(sizeof(Bell) <= Bell::kBytes && std::atomic<uint32_t>::is_always_lock_free);

}  // namespace spillway::pgas
