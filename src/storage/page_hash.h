// XXH3 of a page of 4 KiB. Of what is not in the processor's caches, 8 GB/s with the instructions that every x86-64
// has, 15 GB/s with AVX2, where the processor has it. The results are the same.
#pragma once

#include <cstdint>

namespace spillway::storage {

using PageHash = uint64_t (*)(const void* page);

PageHash fastest_page_hash();

// What it chooses from.
uint64_t page_hash_of_any_processor(const void* page);
#ifdef __x86_64__
uint64_t page_hash_with_avx2(const void* page);
#endif

}  // namespace spillway::storage
