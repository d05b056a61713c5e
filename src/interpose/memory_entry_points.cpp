// malloc and its family: what the program allocates comes from the storage-backed arena, small allocations from the
// heap of them in it; what Spillway and the MPI library allocate, from the C library.
//
// Small ones only from the end of MPI_Init on, as programs that have not begun, and children, have little to unload. A
// piece that the C library gave stays its own until it is resized to a large one. The C library is called by the names
// it exports for this purpose (__libc_*), which need no look-up and are there before anything else is.
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/error.h"
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
using spillway::interpose::small_heap;
using spillway::interpose::thread_cache;
using spillway::interpose::UnmanagedScope;
using spillway::memory::Contents;
using spillway::memory::SmallHeap;

constexpr size_t kLeastLargeBytes = 256 << 10;
static_assert(kLeastLargeBytes == SmallHeap::kMostBytes);

// Nor does it change errno: programs free what they have on the way out of an error.
class KeptErrno {
 public:
  KeptErrno() = default;
  ~KeptErrno() { errno = before_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int before_ = errno;
};

// Storage-backed memory, or nullptr: then it is for the C library. Who waits for room takes messages meanwhile, hence
// the scope.
void* allocate_managed(size_t bytes, size_t alignment, Contents contents = Contents::any) {
  if (UnmanagedScope::is_inside()) return nullptr;
  if (bytes >= kLeastLargeBytes) {
    const UnmanagedScope scope;
    return arena().allocate(bytes, alignment, contents);
  }
  const bool is_possible = spillway::mpi::runtime() != nullptr && arena().has_addresses();
  if (!is_possible || alignment > SmallHeap::kMostAlignment) return nullptr;
  spillway::memory::ThreadCache& cache = thread_cache();
  void* memory = small_heap().take_kept(bytes, alignment, cache);
  if (memory == nullptr) {
    const UnmanagedScope scope;
    memory = small_heap().allocate(bytes, alignment, cache);
  }
  if (memory != nullptr && contents == Contents::zero) memset(memory, 0, bytes);
  return memory;
}

void free_managed(void* memory) {
  const bool is_small = small_heap().contains(memory);
  if (is_small && small_heap().keep(memory, thread_cache())) return;
  const KeptErrno kept;
  const UnmanagedScope scope;
  is_small ? small_heap().free(memory, thread_cache()) : arena().free(memory);
}

// The C library's rule: what is no power of two is rounded up.
void* allocate_aligned(size_t alignment, size_t bytes) {
  constexpr size_t kMostAlignment = SIZE_MAX / 2 + 1;
  if (alignment > kMostAlignment) {
    errno = EINVAL;
    return nullptr;
  }
  void* memory = allocate_managed(bytes, std::bit_ceil(std::max<size_t>(alignment, 1)));
  return memory != nullptr ? memory : __libc_memalign(alignment, bytes);
}

// The C library's own: the next one in the order of look-up may be another allocator's.
size_t libc_usable_bytes(void* memory) {
  using Function = size_t (*)(void*);
  static std::atomic<Function> function = nullptr;
  if (function == nullptr) {
    const UnmanagedScope scope;
    void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    function = libc != nullptr ? reinterpret_cast<Function>(dlsym(libc, "malloc_usable_size")) : nullptr;
    if (function == nullptr) spillway::base::fatal("cannot find malloc_usable_size in the C library: %s", dlerror());
  }
  return function.load()(memory);
}

size_t usable_bytes(void* memory) {
  const UnmanagedScope scope;
  if (!arena().contains(memory)) return libc_usable_bytes(memory);
  return small_heap().contains(memory) ? small_heap().usable_bytes(memory) : arena().usable_bytes(memory);
}

bool resize_in_place(void* memory, size_t bytes) {
  const UnmanagedScope scope;
  if (!small_heap().contains(memory)) return arena().resize_in_place(memory, bytes);
  return small_heap().resize_in_place(memory, bytes);
}

void* move_to(void* target, void* memory, size_t bytes) {
  if (target == nullptr) return nullptr;
  memcpy(target, memory, std::min(usable_bytes(memory), bytes));
  free(memory);
  return target;
}

}  // namespace

#define SPILLWAY_EXPORT extern "C" __attribute__((visibility("default")))

SPILLWAY_EXPORT void* malloc(size_t bytes) {
  void* memory = allocate_managed(bytes, 1);
  return memory != nullptr ? memory : __libc_malloc(bytes);
}

SPILLWAY_EXPORT void free(void* memory) {
  if (arena().contains(memory))
    free_managed(memory);
  else
    __libc_free(memory);
}

SPILLWAY_EXPORT void* calloc(size_t count, size_t size) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes))
    if (void* memory = allocate_managed(bytes, 1, Contents::zero); memory != nullptr) return memory;
  return __libc_calloc(count, size);
}

SPILLWAY_EXPORT void* realloc(void* memory, size_t bytes) {
  if (memory == nullptr) return malloc(bytes);
  if (!arena().contains(memory)) {
    if (bytes < kLeastLargeBytes || UnmanagedScope::is_inside()) return __libc_realloc(memory, bytes);
    return move_to(malloc(bytes), memory, bytes);
  }
  if (bytes == 0) {
    free(memory);
    return nullptr;
  }
  if (resize_in_place(memory, bytes)) return memory;
  return move_to(malloc(bytes), memory, bytes);
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
SPILLWAY_EXPORT void* pvalloc(size_t bytes) {
  const auto page = static_cast<size_t>(getpagesize());
  const size_t padded = (bytes + page - 1) & ~(page - 1);
  if (padded < bytes) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate_aligned(page, padded);
}

SPILLWAY_EXPORT int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  const KeptErrno kept;
  void* allocated = allocate_aligned(alignment, bytes);
  if (allocated == nullptr) return ENOMEM;
  *memory = allocated;
  return 0;
}

SPILLWAY_EXPORT size_t malloc_usable_size(void* memory) { return memory != nullptr ? usable_bytes(memory) : 0; }
