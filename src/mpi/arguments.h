// Checks of what the program passes, before anything happens: the error classes of MPI 4.1, 9.4, through the
// communicator's error handler.
#pragma once

#include <mpi.h>

#include "mpi/communicator.h"
#include "mpi/typed_buffer.h"

namespace spillway::mpi {

// Notes an error, if it is one, for the communicator's error handler; returns `error_class`. The handler is called at
// the end of the program's call, when nothing of Spillway is under way: it may communicate, and it may jump away.
int raise(MPI_Comm comm, int error_class);
int raise(const CommunicatorRef& comm, int error_class);
void call_error_handler();

// MPI_SUCCESS, or the class of the first argument that is wrong.
int check_buffer(const TypedBuffer& buffer);
int check_send(const Communicator& comm, const TypedBuffer& buffer, int destination, int tag);
int check_receive(const Communicator& comm, const TypedBuffer& buffer, int source, int tag);
int check_match(const Communicator& comm, int source, int tag);  // probes
int check_root(const Communicator& comm, int root);
int check_operation(MPI_Op op, MPI_Datatype type);

}  // namespace spillway::mpi
