// Makes the MPI library's functions reachable for the preloaded library.
#pragma once

namespace spillway::interpose {

// A program that loads its MPI library late and for itself alone (Python's import: RTLD_LOCAL) calls our MPI_
// functions, but the PMPI_ functions that these call are looked up among the global ones. So the library is made
// global. Does nothing when it is already.
void make_mpi_library_global();

}  // namespace spillway::interpose
