#include "collective/exchange.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

int gather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part, int root) {
  if (comm.rank != root) {
    send_to(runtime, comm, root, in);
    return MPI_SUCCESS;
  }
  Receives receives(runtime, comm, "MPI_Gather");
  receives.expect_all_but(root);
  int result = in.address == MPI_IN_PLACE ? MPI_SUCCESS : copy_local(in, part(root));
  receives.wait();
  for (size_t i = 0; i < receives.count(); ++i)
    if (const int error = receives.deliver_to(i, part(receives.rank_of(i))); error != MPI_SUCCESS) result = error;
  return mpi::raise(comm.handle, result);
}

}  // namespace spillway::collective
