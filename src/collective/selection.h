// Which algorithm a collective operation takes. What is decided here is decided alike by all members.
#pragma once

#include <mpi.h>

#include "collective/call.h"
#include "mpi/typed_buffer.h"

namespace spillway::collective {

using mpi::RankGroups;
using mpi::TypedBuffer;

// So few ranks and bytes that each rank can well take what all contribute.
bool is_small(const Communicator& comm, const TypedBuffer& contribution);

// The same of an allreduce, of which each rank takes one vector of each node, where nodes combine.
bool is_small_for_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& contribution, MPI_Op op);

// The groups of ranks whose contributions are combined first, each group's in rank order, before what comes of them is,
// in the groups' order.
const RankGroups& groups_to_reduce(Runtime& runtime, const Communicator& comm, MPI_Op op);

// The same where the order of the ranks counts, whatever the operation.
const RankGroups& groups_in_order(Runtime& runtime, const Communicator& comm);

// Into how many blocks a vector is cut that all ranks get the reduction of: each is combined by another group's first
// rank.
int blocks_to_reduce(const RankGroups& groups, const TypedBuffer& contribution);

// Whether each rank folds what all contribute, of vectors that all ranks get the reduction of: where the order of the
// ranks lets no node combine, and where one node has them all and it takes no more than to tell that they have come.
bool is_folded_by_each(Runtime& runtime, const Communicator& comm, const TypedBuffer& contribution, MPI_Op op);

// Whether rank 0 reduces for all, of vectors of which each rank gets a part.
bool is_scattered_by_first_rank(const TypedBuffer& contribution);

}  // namespace spillway::collective
