#include "collective/collective.h"
#include "collective/exchange.h"

namespace spillway::collective {

Operation gather(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, const Part& part, int root) {
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Gather");
  if (comm.rank != root) {
    send_to(call, root, in);
    return ended(std::move(receives));
  }
  receives.expect_all_but(root);
  const int error = in.address == MPI_IN_PLACE ? MPI_SUCCESS : copy_local(in, part(root));
  receives.will_fill(part);
  return Operation(std::move(receives), [part, error](Receives& come) { return come.deliver_all(part, error); });
}

}  // namespace spillway::collective
