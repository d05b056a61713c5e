// The process's one arena of storage-backed memory, its heap of small allocations, and when malloc must stay out of
// them. Inline, as each malloc and free goes through all of it.
#pragma once

#include "memory/arena.h"
#include "memory/small_heap.h"

namespace spillway::interpose {

namespace internal {

extern constinit memory::Arena the_arena;
extern constinit memory::SmallHeap the_small_heap;

// In the static TLS block: a first access that allocates would call malloc from within malloc.
#define SPILLWAY_STATIC_TLS __attribute__((tls_model("initial-exec"))) thread_local
extern constinit SPILLWAY_STATIC_TLS int unmanaged_depth;
extern constinit SPILLWAY_STATIC_TLS bool is_end_noticed;
extern constinit SPILLWAY_STATIC_TLS memory::ThreadCache the_cache;

void notice_end_of_thread();

}  // namespace internal

// There before any constructor runs: malloc is called earlier than that.
inline memory::Arena& arena() { return internal::the_arena; }
inline memory::SmallHeap& small_heap() { return internal::the_small_heap; }

// The calling thread's, of small_heap(). Its end is noticed.
inline memory::ThreadCache& thread_cache() {
  if (!internal::is_end_noticed) internal::notice_end_of_thread();
  return internal::the_cache;
}

// While one of these exists in a thread, its allocations go to the C library: Spillway's own, and those of the MPI
// library, whose memory other processes and devices may know the addresses of. Threads that are started meanwhile stay
// in it for life: nearly all of them are the MPI library's.
class UnmanagedScope {
 public:
  UnmanagedScope() { ++internal::unmanaged_depth; }
  ~UnmanagedScope() { --internal::unmanaged_depth; }
  UnmanagedScope(const UnmanagedScope&) = delete;
  UnmanagedScope& operator=(const UnmanagedScope&) = delete;

  static bool is_inside() { return internal::unmanaged_depth > 0; }
};

}  // namespace spillway::interpose
