// What the collective algorithms are made of: send to a rank, receive from ranks, in the collective context of a
// communicator.
//
// Between two ranks messages keep their order, and all ranks call the collectives of a communicator in the same order,
// so that the messages of two operations cannot be taken for each other.
#pragma once

#include "collective/collective.h"
#include "mpi/transfer.h"

namespace spillway::collective {

void send_to(Runtime& runtime, const Communicator& comm, int rank, const TypedBuffer& buffer);

// The same data to every other rank, or to those of them from `first` on; one copy for all.
void send_to_others(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer, int first = 0);

// Copies between buffers of the same size that may have different datatypes. MPI_SUCCESS or MPI_ERR_TRUNCATE.
int copy_local(const TypedBuffer& from, const TypedBuffer& to);

}  // namespace spillway::collective
