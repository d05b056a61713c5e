#include "interpose/managed_memory.h"

#include <errno.h>
#include <pthread.h>

namespace spillway::interpose {

namespace internal {

constinit memory::Arena the_arena;
constinit memory::SmallHeap the_small_heap(the_arena);
constinit SPILLWAY_STATIC_TLS int unmanaged_depth = 0;
constinit SPILLWAY_STATIC_TLS bool is_end_noticed = false;
constinit SPILLWAY_STATIC_TLS memory::ThreadCache the_cache;

}  // namespace internal

namespace {

// Destructors of other keys may free and allocate after this one.
void end_thread(void*) {
  internal::the_cache.close();
  const UnmanagedScope scope;
  small_heap().flush(internal::the_cache);
}

}  // namespace

// Without a key, as a program may use them all, threads keep nothing.
void internal::notice_end_of_thread() {
  is_end_noticed = true;
  const int error_before = errno;  // free keeps it
  const UnmanagedScope scope;      // it may allocate
  static pthread_key_t key;
  static const bool has_key = pthread_key_create(&key, end_thread) == 0;
  if (!has_key || pthread_setspecific(key, &the_cache) != 0) the_cache.close();
  errno = error_before;
}

}  // namespace spillway::interpose
