// Probes, and messages that a matched probe has taken out of the queue (MPI 4.1, 3.8).
#pragma once

#include <mpi.h>

#include "mpi/request.h"

namespace spillway::mpi {

class Runtime;

int probe(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, MPI_Status* status);
int probe_now(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, int* flag, MPI_Status* status);

int matched_probe(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, MPI_Message* message,
                  MPI_Status* status);
int matched_probe_now(Runtime& runtime, const CommunicatorRef& comm, int source, int tag, int* flag,
                      MPI_Message* message, MPI_Status* status);

// True if `message` is one of ours. `request` becomes the active receive of it; *message becomes MPI_MESSAGE_NULL.
bool take_message(Runtime& runtime, MPI_Message* message, const TypedBuffer& buffer, Request& request);

}  // namespace spillway::mpi
