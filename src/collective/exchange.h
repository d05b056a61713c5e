// What the collective algorithms are made of: send to a rank, receive from ranks, in the collective context of a
// communicator.
//
// What a rank sends to another one with send_to, in one step of one call, keeps its order. Nothing else does: the
// messages of two calls are told apart by their tags, and so are, as two steps, what a rank sends to one and to many.
#pragma once

#include "collective/call.h"
#include "collective/collective.h"
#include "mpi/transfer.h"

namespace spillway::collective {

void send_to(const Call& call, int rank, const TypedBuffer& buffer, Step step = Step::first);

// The same data to every other rank; one copy for all. Once in a step.
void send_to_others(const Call& call, const TypedBuffer& buffer, Step step = Step::first);

// To those of them from `first` on.
void send_to_others_from(const Call& call, int first, const TypedBuffer& buffer, Step step = Step::first);

// Copies between buffers of the same size that may have different datatypes. MPI_SUCCESS or MPI_ERR_TRUNCATE.
int copy_local(const TypedBuffer& from, const TypedBuffer& to);

}  // namespace spillway::collective
