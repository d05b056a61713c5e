#include "collective/exchange.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

// Each rank's data is in the store once, for all others to take.
int allgather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part) {
  int result = MPI_SUCCESS;
  if (in.address != MPI_IN_PLACE) result = copy_local(in, part(comm.rank));
  Receives receives(runtime, comm, "MPI_Allgather");
  receives.expect_all_but(comm.rank);
  send_to_others(runtime, comm, part(comm.rank));
  receives.wait();
  for (size_t i = 0; i < receives.count(); ++i)
    if (const int error = receives.deliver_to(i, part(receives.rank_of(i))); error != MPI_SUCCESS) result = error;
  return mpi::raise(comm.handle, result);
}

}  // namespace spillway::collective
