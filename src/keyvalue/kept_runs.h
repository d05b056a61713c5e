// Tells the process of each partition where in a checkpoint's files the runs are that it is to read there.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "keyvalue/route.h"
#include "shuffle/run.h"

namespace spillway::keyvalue {

struct KeptRun {
  uint32_t partition;
  size_t file;       // number of its name
  shuffle::Run run;  // its `file` is not set
};

// Collective. Each process gives what it has found for anybody, and gets what is for itself.
std::vector<KeptRun> exchange_runs(MPI_Comm communicator, const Route& route, std::vector<KeptRun> found);

}  // namespace spillway::keyvalue
