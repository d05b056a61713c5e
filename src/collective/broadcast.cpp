#include "collective/exchange.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

// One copy of the payload for the node. The root does not wait.
int broadcast(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer, int root) {
  if (comm.rank == root) {
    send_to_others(runtime, comm, buffer);
    return MPI_SUCCESS;
  }
  Receives receives(runtime, comm, "MPI_Bcast");
  receives.expect(root);
  receives.wait();
  return mpi::raise(comm.handle, receives.deliver_to(0, buffer));
}

}  // namespace spillway::collective
