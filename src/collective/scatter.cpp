#include "collective/exchange.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

int scatter(Runtime& runtime, const Communicator& comm, const Part& part, const TypedBuffer& out, int root) {
  if (comm.rank == root) {
    for (int rank = 0; rank < comm.size; ++rank)
      if (rank != root) send_to(runtime, comm, rank, part(rank));
    return out.address == MPI_IN_PLACE ? MPI_SUCCESS : mpi::raise(comm.handle, copy_local(part(root), out));
  }
  Receives receives(runtime, comm, "MPI_Scatter");
  receives.expect(root);
  receives.wait();
  return mpi::raise(comm.handle, receives.deliver_to(0, out));
}

}  // namespace spillway::collective
