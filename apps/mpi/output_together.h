// Output files that all ranks write.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "file_io.h"

namespace apps {

struct Output {
  std::string path;
  uint64_t bytes;
  std::function<void(const File& file)> write_part;  // this rank's
};

// Collective. The files have their names when all ranks have written their parts of all of them. When one cannot,
// nothing is left of any, older files stay, and all ranks throw AgreedFailure.
void write_together(MPI_Comm communicator, const std::vector<Output>& outputs);

}  // namespace apps
