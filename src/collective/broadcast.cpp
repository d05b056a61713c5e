#include "collective/collective.h"
#include "collective/exchange.h"

namespace spillway::collective {

// One copy of the payload for the node. The root does not wait.
Operation broadcast(Runtime& runtime, const Communicator& comm, const TypedBuffer& buffer, int root) {
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Bcast");
  if (comm.rank == root) {
    send_to_others(call, buffer);
    return ended(std::move(receives));
  }
  receives.expect(root);
  receives.will_fill(buffer);
  return Operation(std::move(receives), [buffer](Receives& come) { return come.deliver_to(0, buffer); });
}

}  // namespace spillway::collective
