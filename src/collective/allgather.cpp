#include "collective/collective.h"
#include "collective/exchange.h"

namespace spillway::collective {

// Each rank's data is in the store once, for all others to take.
Operation allgather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part) {
  const Call call(runtime, comm);
  const int error = in.address == MPI_IN_PLACE ? MPI_SUCCESS : copy_local(in, part(comm.rank));
  Receives receives(call, "MPI_Allgather");
  receives.expect_all_but(comm.rank);
  send_to_others(call, part(comm.rank));
  receives.will_fill(part);
  return Operation(std::move(receives), [part, error](Receives& come) { return come.deliver_all(part, error); });
}

}  // namespace spillway::collective
