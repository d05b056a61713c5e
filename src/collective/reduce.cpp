#include "collective/fold.h"
#include "mpi/arguments.h"

namespace spillway::collective {
namespace {

TypedBuffer own_contribution(const TypedBuffer& in, void* out) {
  return TypedBuffer{in.address == MPI_IN_PLACE ? out : in.address, in.count, in.type};
}

}  // namespace

Operation reduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, int root) {
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Reduce");
  if (comm.rank != root) {
    send_to(call, root, in);
    return ended(std::move(receives));
  }
  receives.expect_all_but(root);
  const TypedBuffer own = own_contribution(in, out);
  if (own.address != out) receives.will_fill(TypedBuffer{out, in.count, in.type});
  return Operation(std::move(receives),
                   [call, own, out, op](Receives& come) { return fold_into(call, come, own, out, op); });
}

int allreduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op) {
  const Call call(runtime, comm);
  const TypedBuffer own = own_contribution(in, out);
  const TypedBuffer result{out, in.count, in.type};
  Receives receives(call, "MPI_Allreduce");
  if (comm.rank == 0) {
    receives.expect_all_but(0);
    receives.wait();
    const int error = fold_into(call, receives, own, out, op);
    send_to_others(call, result);
    return mpi::raise(comm.handle, error);
  }
  send_to(call, 0, own);
  receives.expect(0);
  receives.will_fill(result);
  receives.wait();
  return mpi::raise(comm.handle, receives.deliver_to(0, result));
}

Operation allreduce_of_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op) {
  const Call call(runtime, comm);
  const TypedBuffer own = own_contribution(in, out);
  Receives receives(call, "MPI_Iallreduce");
  receives.expect_all_but(comm.rank);
  send_to_others(call, own);
  if (own.address != out) receives.will_fill(TypedBuffer{out, in.count, in.type});
  return Operation(std::move(receives),
                   [call, own, out, op](Receives& come) { return fold_into(call, come, own, out, op); });
}

}  // namespace spillway::collective
