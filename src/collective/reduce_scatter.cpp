#include "collective/fold.h"
#include "collective/selection.h"
#include "mpi/arguments.h"

namespace spillway::collective {
namespace {

constexpr const char* kReduceScatter = "MPI_Reduce_scatter";

// Rank 0 folds: few messages.
int fold_at_first_rank(Runtime& runtime, const Communicator& comm, const TypedBuffer& own, void* out,
                       const Numbers& counts, MPI_Op op) {
  const Call call(runtime, comm);
  const TypedBuffer mine{out, counts[comm.rank], own.type};
  if (comm.rank != 0) {
    send_to(call, 0, own);
    return receive_pieces(call, kReduceScatter, 0, mine);
  }
  Receives receives(call, kReduceScatter);
  receives.expect_all_but(0);
  receives.wait();
  Arrivals arrivals(call, receives);
  Fold fold(own, op);
  fold.add_ranks(comm.one_group().ranks(0), 0, own, arrivals);
  fold.put_into(call, mine, own);
  for (int rank = 1; rank < comm.size; ++rank) fold.send_to(call, rank, counts[rank]);
  return fold.error();
}

}  // namespace

int reduce_scatter(Runtime& runtime, const Communicator& comm, const void* in, void* out, const Numbers& counts,
                   MPI_Datatype type, MPI_Op op) {
  TypedBuffer own = mpi::input_buffer(in == MPI_IN_PLACE ? out : in, 0, type);
  for (int rank = 0; rank < comm.size; ++rank) own.count += counts[rank];
  if (!is_scattered_by_first_rank(own))
    return run(comm, reduce_scatter_of_all(runtime, comm, in, out, counts, type, op));
  return mpi::raise(comm.handle, fold_at_first_rank(runtime, comm, own, out, counts, op));
}

// Each rank gets its slice of all contributions and folds it.
Operation reduce_scatter_of_all(Runtime& runtime, const Communicator& comm, const void* in, void* out,
                                const Numbers& counts, MPI_Datatype type, MPI_Op op) {
  const Call call(runtime, comm);
  Receives receives(call, kReduceScatter);
  receives.expect_all_but(comm.rank);
  TypedBuffer slice = mpi::input_buffer(in == MPI_IN_PLACE ? out : in, 0, type);
  TypedBuffer own;
  for (int rank = 0; rank < comm.size; ++rank) {
    slice.count = counts[rank];
    if (rank == comm.rank)
      own = slice;
    else
      send_to(call, rank, slice);
    slice = mpi::shifted(slice, slice.count);
  }
  return Operation(std::move(receives),
                   [call, own, out, op](Receives& come) { return fold_into(call, come, own, out, op); });
}

}  // namespace spillway::collective
