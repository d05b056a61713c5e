#include "collective/fold.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

int reduce_scatter(Runtime& runtime, const Communicator& comm, const void* in, void* out, const Numbers& counts,
                   MPI_Datatype type, MPI_Op op) {
  TypedBuffer own = mpi::input_buffer(in == MPI_IN_PLACE ? out : in, 0, type);
  for (int rank = 0; rank < comm.size; ++rank) own.count += counts[rank];
  const TypedBuffer mine{out, counts[comm.rank], type};
  Receives receives(runtime, comm, "MPI_Reduce_scatter");
  if (comm.rank != 0) {
    send_to(runtime, comm, 0, own);
    receives.expect(0);
    receives.wait();
    return mpi::raise(comm.handle, receives.deliver_to(0, mine));
  }
  receives.expect_all_but(0);
  receives.wait();
  Fold fold(comm, receives, own, op);
  int result = MPI_SUCCESS;
  for (int rank = 0; rank < comm.size; ++rank)
    if (const int error = fold.step(); error != MPI_SUCCESS) result = error;
  int64_t begin = 0;
  for (int rank = 0; rank < comm.size; begin += counts[rank++]) {
    TypedBuffer part = mpi::shifted(fold.value(), begin);
    part.count = counts[rank];
    if (rank == 0)
      copy_local(part, mine);
    else
      send_to(runtime, comm, rank, part);
  }
  return mpi::raise(comm.handle, result);
}

}  // namespace spillway::collective
