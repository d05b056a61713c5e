// What every handwritten entry point does first: find out whether the call is Spillway's.
//
// It is the MPI library's when there is no job (the program was started by a plain mpiexec), before MPI_Init and after
// MPI_Finalize, when the library calls an exported MPI function itself, and for communicators that Spillway does not
// know: then the library serves it, or reports what is wrong with it.
#pragma once

#include <mpi.h>

#include "interpose/delegated_call.h"
#include "interpose/managed_memory.h"
#include "mpi/arguments.h"
#include "mpi/point_to_point.h"
#include "mpi/runtime.h"

#define SPILLWAY_ENTRY extern "C" __attribute__((visibility("default")))

// Functions that are new in MPI 4.1.
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define SPILLWAY_HAS_MPI_4_1 1
#else
#define SPILLWAY_HAS_MPI_4_1 0
#endif

// Entry points with counts exist twice since MPI 4.0: MPI_X with int, MPI_X_c with MPI_Count. `DEFINE` is a macro of
// (suffix, Count, Displacement).
#if MPI_VERSION >= 4
#define SPILLWAY_DEFINE_BOTH(DEFINE) \
  DEFINE(, int, int)                 \
  DEFINE(_c, MPI_Count, MPI_Aint)
#else
#define SPILLWAY_DEFINE_BOTH(DEFINE) DEFINE(, int, int)
#endif

namespace spillway::interpose {

using mpi::CommunicatorRef;
using mpi::input_buffer;
using mpi::Runtime;
using mpi::TypedBuffer;

// The runtime, if this call is for it and not one that the MPI library makes for itself.
inline Runtime* runtime_for_call() { return UnmanagedScope::is_inside() ? nullptr : mpi::active_runtime(); }

// Runs a call of Spillway's own. All that it makes is gone when it returns: the program's error handler, which comes
// next, may jump over the frames up to the program's.
template <typename Ours>
int unmanaged(Runtime& runtime, Ours ours) {
  UnmanagedScope scope;
  mpi::complete_orphans(runtime);
  return ours();
}

// Runs ours(runtime) or library().
template <typename Ours, typename Library>
int dispatch(Ours ours, Library library) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return library();
  const int code = unmanaged(*runtime, [&] { return ours(*runtime); });
  if (code != MPI_SUCCESS) mpi::call_error_handler();
  return code;
}

// Runs ours(runtime, communicator) or library(); `check(communicator)` gives the error class of a wrong argument.
template <typename Check, typename Ours, typename Library>
int dispatch_on(MPI_Comm comm, Check check, Ours ours, Library library) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return library();
  if (runtime->communicators.find(comm) == nullptr) {
    DelegatedBlocking call("a call on a communicator of other processes");
    return library();
  }
  const int code = unmanaged(*runtime, [&] {
    const CommunicatorRef known = runtime->communicators.find(comm);
    const int error = check(*known);
    return error != MPI_SUCCESS ? mpi::raise(comm, error) : ours(*runtime, known);
  });
  if (code != MPI_SUCCESS) mpi::call_error_handler();
  return code;
}

}  // namespace spillway::interpose
