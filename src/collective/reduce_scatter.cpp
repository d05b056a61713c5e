#include "collective/fold.h"

namespace spillway::collective {

// Each rank gets its slice of all contributions and folds it.
Operation reduce_scatter(Runtime& runtime, const Communicator& comm, const void* in, void* out, const Numbers& counts,
                         MPI_Datatype type, MPI_Op op) {
  Receives receives(runtime, comm, "MPI_Reduce_scatter");
  receives.expect_all_but(comm.rank);
  TypedBuffer slice = mpi::input_buffer(in == MPI_IN_PLACE ? out : in, 0, type);
  TypedBuffer own;
  for (int rank = 0; rank < comm.size; ++rank) {
    slice.count = counts[rank];
    if (rank == comm.rank)
      own = slice;
    else
      send_to(runtime, comm, rank, slice);
    slice = mpi::shifted(slice, slice.count);
  }
  return Operation(std::move(receives), [&runtime, &comm, own, out, op](Receives& come) {
    return fold_into(runtime, comm, come, own, out, op);
  });
}

}  // namespace spillway::collective
