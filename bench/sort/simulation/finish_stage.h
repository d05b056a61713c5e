// The second stage: buckets are read from local disks, gathered, sorted and written to the parallel file system. Both
// return the seconds. A host stands for its processes, which all do the same at the same time: what they send to all
// others is one flow to the next host, which loads each link as much.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster.h"
#include "sort/memory_plan.h"

namespace spillway::simulation {

// The paper's: one bucket at a time, of which each host has a part, is sorted by all. The next one is read while it is
// written.
double finish_one_bucket_at_a_time(SortCluster& cluster, const Model& model, const std::vector<uint64_t>& bytes);

// src/sort's: each process gathers buckets of its own, of two one while the other is sorted and written. The chunks of
// a bucket lie where they were written.
double finish_own_buckets(SortCluster& cluster, const Model& model, const std::vector<uint64_t>& bytes,
                          const sort::MemoryPlan& plan);

}  // namespace spillway::simulation
