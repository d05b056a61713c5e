// The MPI library that the process has loaded.
#pragma once

#include <atomic>

namespace spillway::library {

extern std::atomic<bool> library_found;
inline bool is_found() { return library_found.load(std::memory_order_acquire); }

// Finds the library, its functions and its handles, wherever they were loaded from and as long as they are not ours.
// Ends the process with a message when there is none. Thread-safe.
void find_mpi_library();

// Ends the process with a message when the library has functions that Spillway has no entry points for, as it was built
// for an mpi.h without them: their calls would go past it. REQUIRES: the library was found.
void check_version();

// Its handle, as of dlopen; nullptr before it was found.
void* mpi_library();

// The library lacks a function that it should have by the mpi.h that Spillway was built with: ends the process.
[[noreturn]] void report_missing(const char* function);

}  // namespace spillway::library
