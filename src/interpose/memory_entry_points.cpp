// malloc and its family: large allocations come from the storage-backed arena, all others from the C library.
//
// "Large" is SegmentHeader::minimum_managed_bytes once the rank has attached, and its default before. The C library is
// called by the names it exports for this purpose (__libc_*), which need no look-up and are there before anything else
// is.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "interpose/managed_memory.h"
#include "mpi/runtime.h"

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

using spillway::interpose::arena;
using spillway::interpose::UnmanagedScope;
using spillway::memory::Contents;

constexpr size_t kDefaultMinimumBytes = 256 << 10;

bool is_managed_size(size_t bytes) {
  if (bytes < kDefaultMinimumBytes || UnmanagedScope::is_inside()) return false;
  const auto* runtime = spillway::mpi::runtime();
  return runtime == nullptr || bytes >= runtime->self.header().minimum_managed_bytes;
}

void* allocate_aligned(size_t alignment, size_t bytes) {
  if (is_managed_size(bytes))
    if (void* memory = arena().allocate(bytes, std::bit_ceil(std::max<size_t>(alignment, 1))); memory != nullptr)
      return memory;
  return __libc_memalign(alignment, bytes);
}

size_t libc_usable_bytes(void* memory) {
  using Function = size_t (*)(void*);
  static const auto libc_function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return libc_function(memory);
}

void* move_to(void* target, void* memory, size_t old_bytes, size_t bytes) {
  if (target == nullptr) return nullptr;
  memcpy(target, memory, old_bytes < bytes ? old_bytes : bytes);
  free(memory);
  return target;
}

}  // namespace

#define SPILLWAY_EXPORT extern "C" __attribute__((visibility("default")))

SPILLWAY_EXPORT void* malloc(size_t bytes) {
  if (is_managed_size(bytes))
    if (void* memory = arena().allocate(bytes, 1); memory != nullptr) return memory;
  return __libc_malloc(bytes);
}

SPILLWAY_EXPORT void free(void* memory) {
  if (arena().contains(memory))
    arena().free(memory);
  else
    __libc_free(memory);
}

SPILLWAY_EXPORT void* calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes) && is_managed_size(bytes))
    if (void* memory = arena().allocate(bytes, 1, Contents::zero); memory != nullptr) return memory;
  return __libc_calloc(count, size);
}

SPILLWAY_EXPORT void* realloc(void* memory, size_t bytes) {
  if (!arena().contains(memory)) {
    if (memory == nullptr || !is_managed_size(bytes))
      return memory == nullptr ? malloc(bytes) : __libc_realloc(memory, bytes);
    return move_to(malloc(bytes), memory, libc_usable_bytes(memory), bytes);
  }
  if (bytes == 0) {
    free(memory);
    return nullptr;
  }
  if (arena().resize_in_place(memory, bytes)) return memory;
  return move_to(malloc(bytes), memory, arena().usable_bytes(memory), bytes);
}

SPILLWAY_EXPORT void* reallocarray(void* memory, size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(memory, bytes);
}

SPILLWAY_EXPORT void* memalign(size_t alignment, size_t bytes) { return allocate_aligned(alignment, bytes); }
SPILLWAY_EXPORT void* aligned_alloc(size_t alignment, size_t bytes) { return allocate_aligned(alignment, bytes); }
SPILLWAY_EXPORT void* valloc(size_t bytes) { return allocate_aligned(static_cast<size_t>(getpagesize()), bytes); }

SPILLWAY_EXPORT int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int error_before = errno;
  void* allocated = allocate_aligned(alignment, bytes);
  errno = error_before;
  if (allocated == nullptr) return ENOMEM;
  *memory = allocated;
  return 0;
}

SPILLWAY_EXPORT size_t malloc_usable_size(void* memory) {
  if (memory == nullptr) return 0;
  return arena().contains(memory) ? arena().usable_bytes(memory) : libc_usable_bytes(memory);
}
