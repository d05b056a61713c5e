#include "collective/exchange.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

// All parts leave for the store before any is taken, so input and output may be the same memory. Each rank begins with
// its right neighbour, so that not all ranks fill the same mailbox at a time.
int alltoall(Runtime& runtime, const Communicator& comm, const Part& in, const Part& out) {
  Receives receives(runtime, comm, "MPI_Alltoall");
  receives.expect_all_but(comm.rank);
  for (int step = 1; step < comm.size; ++step) {
    const int rank = (comm.rank + step) % comm.size;
    send_to(runtime, comm, rank, in(rank));
  }
  int result = copy_local(in(comm.rank), out(comm.rank));
  receives.wait();
  for (size_t i = 0; i < receives.count(); ++i)
    if (const int error = receives.deliver_to(i, out(receives.rank_of(i))); error != MPI_SUCCESS) result = error;
  return mpi::raise(comm.handle, result);
}

}  // namespace spillway::collective
