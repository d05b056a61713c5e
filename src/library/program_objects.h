// Which of the loaded objects are the program: its own file and the libraries that it was linked with, but neither the
// MPI library nor anything that this was linked with in turn.
//
// Memory of an MPI library is known to other processes and to devices, and what it was linked with (transports,
// drivers, the C library) works for it behind the program's back. What the program loads while it runs is left out too:
// MPI libraries load parts of their own that way, and it may be unloaded again.
#pragma once

#include <link.h>

#include <vector>

namespace spillway::library {

struct ProgramObject {
  dl_phdr_info loaded;  // points into the dynamic linker's own records, which stay as long as the process
  const char* file;
};

// REQUIRES: find_mpi_library() was called.
std::vector<ProgramObject> program_objects();

}  // namespace spillway::library
