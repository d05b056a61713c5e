#include "collective/collective.h"
#include "collective/exchange.h"

namespace spillway::collective {

Operation scatter(Runtime& runtime, const Communicator& comm, const Part& part, const TypedBuffer& out, int root) {
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Scatter");
  if (comm.rank == root) {
    for (int rank = 0; rank < comm.size; ++rank)
      if (rank != root) send_to(call, rank, part(rank));
    return ended(std::move(receives), out.address == MPI_IN_PLACE ? MPI_SUCCESS : copy_local(part(root), out));
  }
  receives.expect(root);
  receives.will_fill(out);
  return Operation(std::move(receives), [out](Receives& come) { return come.deliver_to(0, out); });
}

}  // namespace spillway::collective
