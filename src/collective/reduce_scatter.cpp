#include "collective/fold.h"
#include "mpi/arguments.h"
#include "mpi/runtime.h"

namespace spillway::collective {

int reduce_scatter(Runtime& runtime, const Communicator& comm, const void* in, void* out, const Numbers& counts,
                   MPI_Datatype type, MPI_Op op) {
  TypedBuffer own = mpi::input_buffer(in == MPI_IN_PLACE ? out : in, 0, type);
  for (int rank = 0; rank < comm.size; ++rank) own.count += counts[rank];
  const TypedBuffer mine{out, counts[comm.rank], type};
  constexpr const char* kOperation = "MPI_Reduce_scatter";
  if (comm.rank != 0) {
    send_to(runtime, comm, 0, own);
    return mpi::raise(comm.handle, receive_pieces(runtime, comm, kOperation, 0, mine));
  }
  Receives receives(runtime, comm, kOperation);
  receives.expect_all_but(0);
  receives.wait();
  Fold fold(runtime, comm, receives, own, op);
  for (int rank = 0; rank < comm.size; ++rank)
    for_each_piece(counts[rank], type, [&](MPI_Count begin, MPI_Count count) {
      const TypedBuffer& value = fold.fold_piece(count);
      if (rank == 0)
        copy_local(value, piece_of(mine, begin, count));
      else
        send_to(runtime, comm, rank, value);
    });
  return mpi::raise(comm.handle, fold.error());
}

}  // namespace spillway::collective
