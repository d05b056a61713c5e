// Turns buckets of edges into a CSR file. Edges that occur more than once are stored once and each row is sorted, so
// the file depends only on the set of edges: not on their order, nor on the number of threads.
#pragma once

#include <cstdint>
#include <functional>

#include "csr_file.h"
#include "edge_buckets.h"

namespace pagerank {

// Returns the number of edges stored. Each thread holds one bucket in memory (twice, while it sorts).
uint64_t build_csr(const EdgeBuckets& buckets, CsrWriter& writer, unsigned thread_count);

// Runs work(0) ... work(thread_count - 1), each on a thread, and throws what the first one that failed has thrown.
void run_threads(unsigned thread_count, const std::function<void(unsigned)>& work);

}  // namespace pagerank
