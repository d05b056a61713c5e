#include "collective/fold.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

// Rank 0 folds and hands each prefix on as it comes. Exclusive: rank i gets the prefix that ends before it; rank 0 gets
// nothing.
int scan(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, bool exclusive) {
  const TypedBuffer own{in.address == MPI_IN_PLACE ? out : in.address, in.count, in.type};
  const TypedBuffer mine{out, in.count, in.type};
  Receives receives(runtime, comm, exclusive ? "MPI_Exscan" : "MPI_Scan");
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
  for (int rank = 0; rank < comm.size; ++rank) {
    if (exclusive && rank > 0) send_to(runtime, comm, rank, fold.value());
    if (const int error = fold.step(); error != MPI_SUCCESS) result = error;
    if (exclusive) continue;
    if (rank == 0)
      copy_local(fold.value(), mine);
    else
      send_to(runtime, comm, rank, fold.value());
  }
  return mpi::raise(comm.handle, result);
}

}  // namespace spillway::collective
