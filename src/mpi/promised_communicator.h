// Communicators that nonblocking calls make (MPI_Comm_idup): they come out when a request completes, where no rank may
// wait for others.
//
// So their number is agreed on when the call is made: the rank that proposes it sends it to all members, which take it
// on completion.
#pragma once

#include <mpi.h>

#include <vector>

#include "mpi/communicator.h"

namespace spillway::mpi {

class Runtime;

struct PromisedCommunicator {
  MPI_Comm handle = MPI_COMM_NULL;  // not usable yet; MPI_COMM_NULL: none is promised
  CommunicatorRef parent;
  int order = 0;  // among those promised by calls on `parent`, which all members make in the same order
};

// At the call, which has returned `handle`: the libraries know it at once, and the variable that it is in may be gone
// when the request completes (their Fortran bindings). `parent` is what the communicator is made of.
PromisedCommunicator promise_communicator(Runtime& runtime, MPI_Comm handle, const CommunicatorRef& parent);

// When the request has completed: enters it into the runtime's table. Waits at most for a message that is on its way.
void keep_promise(Runtime& runtime, const PromisedCommunicator& promised);
void keep_promises(Runtime& runtime, std::vector<PromisedCommunicator> promised);

}  // namespace spillway::mpi
