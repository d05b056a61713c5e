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
#include "mpi/call_lock.h"
#include "mpi/point_to_point.h"
#include "mpi/runtime.h"

#define SPILLWAY_ENTRY extern "C" __attribute__((visibility("default")))

// An mpi.h declares functions of versions beyond the one that it names (Open MPI 5.0 says 3.1), so entry points depend
// on what is declared: where MPI_X is, PMPI_X is a macro of mpi_library.h.

// Entry points with counts exist twice since MPI 4.0: MPI_X with int, MPI_X_c with MPI_Count. `DEFINE` is a macro of
// (suffix, Count, Displacement).
#ifdef PMPI_Send_c
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

// Runs call(), and the program's error handler if it has failed. All that the call made is gone by then: the handler
// may jump over the frames up to the program's.
template <typename Call>
int with_error_handler(Call call) {
  const int code = call();
  if (code != MPI_SUCCESS) mpi::call_error_handler();
  return code;
}

// Runs ours(runtime) or library().
template <typename Ours, typename Library>
int dispatch(Ours ours, Library library) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return library();
  return with_error_handler([&] {
    const mpi::CallLock lock;
    UnmanagedScope scope;
    mpi::complete_orphans(*runtime);
    return ours(*runtime);
  });
}

// Runs ours(runtime, communicator), library(), or elsewhere() for a communicator with processes that are none of the
// job's ranks; `check(communicator)` gives the error class of a wrong argument.
template <typename Check, typename Ours, typename Library, typename Elsewhere>
int dispatch_on(MPI_Comm comm, Check check, Ours ours, Library library, Elsewhere elsewhere) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return library();
  return with_error_handler([&] {
    mpi::CallLock lock;
    const CommunicatorRef known = runtime->communicators.find(comm);
    if (known == nullptr) {
      lock.release();
      return elsewhere();
    }
    UnmanagedScope scope;
    mpi::complete_orphans(*runtime);
    if (const int error = check(*known); error != MPI_SUCCESS) return mpi::raise(comm, error);
    return ours(*runtime, known);
  });
}

// The same for a call that may wait.
template <typename Check, typename Ours, typename Library>
int dispatch_on(MPI_Comm comm, Check check, Ours ours, Library library) {
  return dispatch_on(comm, check, ours, library, [&] {
    DelegatedBlocking call("a call on a communicator of other processes");
    return library();
  });
}

// The same for one that gives a request, which is persistent or has started.
template <typename Check, typename Ours, typename Library>
int dispatch_request_on(MPI_Comm comm, Check check, Ours ours, Library library, MPI_Request* request,
                        bool is_persistent = false) {
  return dispatch_on(comm, check, ours, library, [&] {
    DelegatedRequest call("a request on a communicator of other processes");
    const int code = library();
    is_persistent ? call.prepared(code, request) : call.started(code, request);
    return code;
  });
}

}  // namespace spillway::interpose
