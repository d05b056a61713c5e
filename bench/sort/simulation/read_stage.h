// The first stage: the input is read from the parallel file system, delivered to those who sort, dealt out to buckets
// and written to local disks.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster.h"

namespace spillway::simulation {

struct ReadStage {
  double seconds = 0;
  uint64_t block_bytes = 0;
  std::vector<uint64_t> bytes;  // that each host has in the end
  // Of the sorters' time, on average: dealing out and writing; waiting for data; at the end, for the others.
  double computing_s = 0;
  double waiting_s = 0;
  double ending_s = 0;
};

// As src/sort delivers: places and states of buffers are its own sources. Where `is_collective`, the processes with the
// same number on all hosts deal out their blocks together, as BIN_COMM of the paper's hybrid design does. The blocks
// are of `plan.block_bytes`, or several in one, and each sorter has `slots` buffers.
ReadStage read_one_sided(SortCluster& cluster, const Model& model, uint64_t block_bytes, uint64_t slots,
                         bool is_collective);

// The design before it (section 3): rank 0 of the readers assigns receivers, round by round; a token goes round among
// the receivers, one on each sort host; groups of sorters are activated when all hosts have a buffer for them.
ReadStage read_two_sided(SortCluster& cluster, const Model& model, uint64_t block_bytes, uint64_t slots);

}  // namespace spillway::simulation
