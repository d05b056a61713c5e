// Collective operations (BDMPI 5.4), one per source file.
//
// Two phases: every rank contributes, through the message store; when what it waits for has been contributed it takes
// its result. Nobody waits for another rank's taking. Payloads that several ranks get exist once on each node.
// Reductions are computed in an order that depends on nothing but the call, the ranks and their nodes, so results are
// the same, bit for bit, in every run on the same nodes. A nonblocking prefix folds the sums of nodes where a blocking
// one goes from rank to rank: floating-point numbers may be rounded otherwise, and prefixes of numbers that are not
// negative may decrease by a rounding.
//
// Most are an Operation: on return the rank has done all that others need of it, so that one form serves blocking,
// nonblocking and persistent calls. The reductions and the barrier have a second, blocking form in which some ranks
// compute what else each rank would compute for itself, from n times as many messages. Both forms combine within each
// node first (local reduction, Twister 5.1) where the operation and the order of the ranks allow it, so that what goes
// between nodes is one contribution of each node and not of each rank. In the blocking form the node's first rank does
// that; in an Operation, which no rank comes back to for the others' sake, the one that is the last to begin.
//
// All take intracommunicators; `comm` members call them in the same order. MPI_IN_PLACE is given where MPI has it, as
// the address. An Operation uses `comm`, buffers and datatypes until it has ended.
#pragma once

#include <mpi.h>

#include <functional>

#include "collective/numbers.h"
#include "collective/operation.h"
#include "mpi/communicator.h"
#include "mpi/typed_buffer.h"

namespace spillway::collective {

// A buffer with one part for each rank: part i has counts[i] elements and begins displacements[i] elements in.
struct PartedBuffer {
  void* address;
  Numbers counts;
  Numbers displacements;
  MPI_Datatype type;
  TypedBuffer part(int i) const;
};

// The regular form: part i has `count` elements and begins i * count elements in.
TypedBuffer regular_part(const TypedBuffer& first, int i);

// Waits, ends the operation and notes its error, if any, for the error handler: an MPI error class.
int run(const Communicator& comm, Operation operation);

Operation broadcast(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer, int root);

// Where, in the program's memory, rank i's part is.
using Part = std::function<TypedBuffer(int)>;

// part(i) receives rank i's data; called at the root only. `in` of the root may have the address MPI_IN_PLACE.
Operation gather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part, int root);

// part(i) goes to rank i; called at the root only. `out` of the root may have the address MPI_IN_PLACE.
Operation scatter(Runtime& runtime, const Communicator& comm, const Part& part, const TypedBuffer& out, int root);

// part(i) receives rank i's data. With MPI_IN_PLACE as the address of `in`, the rank's own part is there already.
Operation allgather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part);

// in(i) goes to rank i, out(i) comes from rank i. For MPI_IN_PLACE, both are the same.
Operation alltoall(Runtime& runtime, const Communicator& comm, const Part& in, const Part& out);

int barrier(Runtime& runtime, const Communicator& comm);
int reduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, int root);
int allreduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op);
// Rank i gets counts[i] elements of the result.
int reduce_scatter(Runtime& runtime, const Communicator& comm, const void* in, void* out, const Numbers& counts,
                   MPI_Datatype type, MPI_Op op);
int scan(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, bool exclusive);

// Of these, the form in which each rank of the root's node, and one of each other node, sends to the root.
Operation reduce_to_root(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op,
                         int root);
// The forms in which every rank hears of every other, or of its node. Each takes its part of all contributions here,
// which is the better form for long blocking ones, too.
Operation reduce_scatter_of_all(Runtime& runtime, const Communicator& comm, const void* in, void* out,
                                const Numbers& counts, MPI_Datatype type, MPI_Op op);
// And here all of them. REQUIRES: is_small() of what each contributes.
Operation barrier_of_all(Runtime& runtime, const Communicator& comm);
Operation allreduce_of_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op);
Operation scan_of_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op,
                      bool exclusive);

}  // namespace spillway::collective
