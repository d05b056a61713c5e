// Compiled for processors with AVX2, so it includes nothing whose functions could take the place of others' elsewhere:
// all of xxhash.h is static here.
#include "storage/page_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::storage {

uint64_t page_hash_with_avx2(const void* page) { return XXH3_64bits(page, 4096); }

}  // namespace spillway::storage
