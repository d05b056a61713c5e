#include "collective/fold.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {
namespace {

TypedBuffer own_contribution(const TypedBuffer& in, void* out) {
  return TypedBuffer{in.address == MPI_IN_PLACE ? out : in.address, in.count, in.type};
}

// At the rank that folds: waits for all, folds, and leaves the result in `out`.
int fold_into(Runtime& runtime, const Communicator& comm, const TypedBuffer& own, void* out, MPI_Op op,
              const char* operation) {
  Receives receives(runtime, comm, operation);
  receives.expect_all_but(comm.rank);
  receives.wait();
  Fold fold(runtime, comm, receives, own, op);
  const TypedBuffer result{out, own.count, own.type};
  for_each_piece(own.count, own.type, [&](MPI_Count begin, MPI_Count count) {
    copy_local(fold.fold_piece(count), piece_of(result, begin, count));
  });
  return fold.error();
}

}  // namespace

int reduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, int root) {
  if (comm.rank == root)
    return mpi::raise(comm.handle, fold_into(runtime, comm, own_contribution(in, out), out, op, "MPI_Reduce"));
  send_to(runtime, comm, root, in);
  return MPI_SUCCESS;
}

int allreduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op) {
  const TypedBuffer own = own_contribution(in, out);
  const TypedBuffer result{out, in.count, in.type};
  if (comm.rank == 0) {
    const int error = fold_into(runtime, comm, own, out, op, "MPI_Allreduce");
    send_to_others(runtime, comm, result);
    return mpi::raise(comm.handle, error);
  }
  send_to(runtime, comm, 0, own);
  Receives receives(runtime, comm, "MPI_Allreduce");
  receives.expect(0);
  receives.wait();
  return mpi::raise(comm.handle, receives.deliver_to(0, result));
}

}  // namespace spillway::collective
