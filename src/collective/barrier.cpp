#include "collective/collective.h"
#include "collective/exchange.h"

namespace spillway::collective {

// Rank 0 hears of everybody, then everybody hears of rank 0: each rank is woken once.
int barrier(Runtime& runtime, const Communicator& comm) {
  const TypedBuffer nothing{nullptr, 0, MPI_BYTE};
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Barrier");
  if (comm.rank == 0) {
    receives.expect_all_but(0);
  } else {
    send_to(call, 0, nothing);
    receives.expect(0);
  }
  receives.wait();
  for (size_t i = 0; i < receives.count(); ++i) receives.deliver_to(i, nothing);
  if (comm.rank == 0) send_to_others(call, nothing);
  return MPI_SUCCESS;
}

Operation barrier_of_all(Runtime& runtime, const Communicator& comm) {
  const TypedBuffer nothing{nullptr, 0, MPI_BYTE};
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Ibarrier");
  receives.expect_all_but(comm.rank);
  send_to_others(call, nothing);
  return Operation(std::move(receives),
                   [nothing](Receives& come) { return come.deliver_all([&](int) { return nothing; }, MPI_SUCCESS); });
}

}  // namespace spillway::collective
