// Turns buckets of entries into a CSR file. Each row is sorted; entries of the same row and column become one: of a
// graph's edges one is stored, of a matrix's values their sum. The file depends only on the entries: not on their
// order, nor on the number of threads.
#pragma once

#include <cstdint>

#include "csr_file.h"
#include "entry_buckets.h"

namespace apps {

// Returns the number of entries stored. Each thread holds one bucket in memory (entries twice, while it sorts). Throws
// when a sum of values is not finite.
template <typename Entry>
uint64_t build_csr(const EntryBuckets<Entry>& buckets, const CsrWriter& writer, unsigned thread_count);

}  // namespace apps
