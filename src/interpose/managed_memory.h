// The process's one arena of storage-backed memory, and when malloc must stay out of it.
#pragma once

#include "memory/arena.h"

namespace spillway::interpose {

// There before any constructor runs: malloc is called earlier than that.
memory::Arena& arena();

// While one of these exists in a thread, its allocations go to the C library: Spillway's own, and those of the MPI
// library, whose memory other processes and devices may know the addresses of.
class UnmanagedScope {
 public:
  UnmanagedScope();
  ~UnmanagedScope();
  UnmanagedScope(const UnmanagedScope&) = delete;
  UnmanagedScope& operator=(const UnmanagedScope&) = delete;

  static bool is_inside();
};

}  // namespace spillway::interpose
