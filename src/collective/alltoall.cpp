#include "collective/collective.h"
#include "collective/exchange.h"

namespace spillway::collective {

// All parts leave for the store before any is taken, so input and output may be the same memory. Each rank begins with
// its right neighbour, so that not all ranks fill the same mailbox at a time.
Operation alltoall(Runtime& runtime, const Communicator& comm, const Part& in, const Part& out) {
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Alltoall");
  receives.expect_all_but(comm.rank);
  for (int step = 1; step < comm.size; ++step) {
    const int rank = (comm.rank + step) % comm.size;
    send_to(call, rank, in(rank));
  }
  const int error = copy_local(in(comm.rank), out(comm.rank));
  receives.will_fill(out);
  return Operation(std::move(receives), [out, error](Receives& come) { return come.deliver_all(out, error); });
}

}  // namespace spillway::collective
