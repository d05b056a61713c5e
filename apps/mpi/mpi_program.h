// The frame of main() of a program with MPI: what a rank throws becomes a message with the program's name and the rank,
// and an exit status.
#pragma once

#include <functional>

namespace apps {

// Runs program(rank of MPI_COMM_WORLD), which parses the command line, too, between MPI_Init and MPI_Finalize. Returns
// the exit status: 0, kExitUsage after a UsageError, which all ranks have, kExitFailure after AgreedFailure. Any other
// exception is one rank's, and the others may be waiting for it: ends the job. `want_of_memory` is said for
// std::bad_alloc.
int run_mpi_program(const char* name, int& argument_count, char**& arguments, const char* want_of_memory,
                    const std::function<void(int rank)>& program);

}  // namespace apps
