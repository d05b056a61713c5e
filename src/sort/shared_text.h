// What process 0 says, for all.
#pragma once

#include <mpi.h>

#include <string>

namespace spillway::sort {

// Collective.
std::string share(MPI_Comm processes, std::string text);

}  // namespace spillway::sort
