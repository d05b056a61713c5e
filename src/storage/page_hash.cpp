#include "storage/page_hash.h"

// Within this file: a program with another version of the library keeps its own.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::storage {

uint64_t page_hash_of_any_processor(const void* page) { return XXH3_64bits(page, 4096); }

PageHash fastest_page_hash() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return page_hash_with_avx2;
#endif
  return page_hash_of_any_processor;
}

}  // namespace spillway::storage
