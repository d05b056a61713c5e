// Where keys lie, from samples of the input.
#pragma once

#include <mpi.h>

#include "sort/async_io.h"
#include "sort/input_files.h"
#include "sort/input_plan.h"
#include "sort/record_layout.h"
#include "sort/splitters.h"

namespace spillway::sort {

// What a record takes on average: as it is in a file, and in a bucket.
struct RecordSize {
  double file_bytes;
  double bucket_bytes;
};

// Collective. Of lines it is an estimate, from places all over the input, and the same in all processes.
RecordSize record_size(MPI_Comm processes, const InputPlan& plan, const RecordLayout& layout, InputFiles& files,
                       AsyncIo& io);

struct Buckets {
  uint64_t count;
  uint64_t most_bytes;  // that there is room for in one
};

// Collective: reads places all over the input, and finds the same splitters in all processes. Samples take about
// `most_bytes` of each, as only the beginnings of long keys are used. Throws Failure where too many have the same one,
// and are longer.
Splitters sample_splitters(MPI_Comm processes, const InputPlan& plan, const RecordLayout& layout, InputFiles& files,
                           const RecordSize& size, const Buckets& buckets, uint64_t most_bytes, AsyncIo& io);

}  // namespace spillway::sort
