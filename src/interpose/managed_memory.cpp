#include "interpose/managed_memory.h"

#include <pthread.h>

namespace spillway::interpose {
namespace {

constinit memory::Arena the_arena;
constinit memory::SmallHeap the_small_heap(the_arena);

// In the static TLS block: a first access that allocates would call malloc from within malloc.
#define SPILLWAY_STATIC_TLS __attribute__((tls_model("initial-exec"))) thread_local
SPILLWAY_STATIC_TLS int unmanaged_depth = 0;
SPILLWAY_STATIC_TLS memory::ThreadCache the_cache;
SPILLWAY_STATIC_TLS bool is_end_noticed = false;

// Destructors of other keys may free and allocate after this one.
void end_thread(void*) {
  the_cache.close();
  const UnmanagedScope scope;
  the_small_heap.flush(the_cache);
}

// Without a key, as a program may use them all, threads keep nothing.
void notice_end_of_thread() {
  is_end_noticed = true;
  const UnmanagedScope scope;  // it may allocate
  static pthread_key_t key;
  static const bool has_key = pthread_key_create(&key, end_thread) == 0;
  if (!has_key || pthread_setspecific(key, &the_cache) != 0) the_cache.close();
}

}  // namespace

memory::Arena& arena() { return the_arena; }
memory::SmallHeap& small_heap() { return the_small_heap; }

memory::ThreadCache& thread_cache() {
  if (!is_end_noticed) notice_end_of_thread();
  return the_cache;
}

UnmanagedScope::UnmanagedScope() { ++unmanaged_depth; }
UnmanagedScope::~UnmanagedScope() { --unmanaged_depth; }
bool UnmanagedScope::is_inside() { return unmanaged_depth > 0; }

}  // namespace spillway::interpose
