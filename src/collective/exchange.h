// What the collective algorithms are made of: send to a rank, receive from ranks, in the collective context of a
// communicator.
//
// What a rank sends to another one with send_to, in one step of one call, keeps its order. Nothing else does: the
// messages of two calls are told apart by their tags, and so are, as two steps, what a rank sends to one and to many.
#pragma once

#include <vector>

#include "collective/call.h"
#include "collective/collective.h"
#include "mpi/transfer.h"

namespace spillway::collective {

// A vector whose elements lie in several buffers of one datatype, one after the other.
using Parts = std::vector<TypedBuffer>;

// A buffer without an address, as long as all of them.
TypedBuffer length_of(const Parts& parts);

void send_to(const Call& call, int rank, const TypedBuffer& buffer, Step step = Step::first);

// The same data to `ranks`, which may be this one, too, and to all others; one copy for all. Once in a step.
void send_to_ranks(const Call& call, const std::vector<int>& ranks, const Parts& data, Step step = Step::first);
void send_to_others(const Call& call, const TypedBuffer& buffer, Step step = Step::first);

// The ranks from `first` on.
std::vector<int> ranks_from(const Communicator& comm, int first);

// The others of `ranks`.
std::vector<int> without(int rank, std::vector<int> ranks);

// Copies between buffers of the same size that may have different datatypes. MPI_SUCCESS or MPI_ERR_TRUNCATE.
int copy_local(const TypedBuffer& from, const TypedBuffer& to);

}  // namespace spillway::collective
