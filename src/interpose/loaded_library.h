// Makes the MPI library reachable for the preloaded library, however late and by whom it was loaded.
#pragma once

namespace spillway::interpose {

// To be called before any function of the MPI library. A program that loads that late and for itself alone (Python's
// import: RTLD_LOCAL) calls our MPI_ functions, but the PMPI_ functions that these call are looked up among the global
// ones: so the library is made global.
void find_mpi_library();

}  // namespace spillway::interpose
