// The process's one arena of storage-backed memory, its heap of small allocations, and when malloc must stay out of
// them.
#pragma once

#include "memory/arena.h"
#include "memory/small_heap.h"

namespace spillway::interpose {

// There before any constructor runs: malloc is called earlier than that.
memory::Arena& arena();
memory::SmallHeap& small_heap();

// The calling thread's, of small_heap(). Its end is noticed.
memory::ThreadCache& thread_cache();

// While one of these exists in a thread, its allocations go to the C library: Spillway's own, and those of the MPI
// library, whose memory other processes and devices may know the addresses of. Threads that are started meanwhile stay
// in it for life: nearly all of them are the MPI library's.
class UnmanagedScope {
 public:
  UnmanagedScope();
  ~UnmanagedScope();
  UnmanagedScope(const UnmanagedScope&) = delete;
  UnmanagedScope& operator=(const UnmanagedScope&) = delete;

  static bool is_inside();
};

}  // namespace spillway::interpose
