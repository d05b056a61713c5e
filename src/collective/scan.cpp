#include "collective/fold.h"
#include "mpi/arguments.h"

namespace spillway::collective {

// Rank 0 folds and hands each prefix on as it comes. Exclusive: rank i gets the prefix that ends before it; rank 0 gets
// nothing.
int scan(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, bool exclusive) {
  const Call call(runtime, comm);
  const TypedBuffer own = own_contribution(in, out);
  const TypedBuffer mine{out, in.count, in.type};
  const char* operation = exclusive ? "MPI_Exscan" : "MPI_Scan";
  if (comm.rank != 0) {
    send_to(call, 0, own);
    return mpi::raise(comm.handle, receive_pieces(call, operation, 0, mine));
  }
  Receives receives(call, operation);
  receives.expect_all_but(0);
  receives.wait();
  Arrivals arrivals(call, receives);
  Fold fold(own, op);
  fold.add_ranks(comm.one_group().ranks(0), 0, own, arrivals);
  for_each_piece(own.count, own.type, [&](MPI_Count begin, MPI_Count count) {
    fold.begin_piece(count);
    for (int rank = 0; rank < comm.size; ++rank) {
      if (exclusive && rank > 0) send_to(call, rank, fold.value());
      fold.step();
      if (exclusive) continue;
      if (rank == 0)
        copy_local(fold.value(), piece_of(mine, begin, count));
      else
        send_to(call, rank, fold.value());
    }
  });
  return mpi::raise(comm.handle, fold.error());
}

Operation scan_of_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op,
                      bool exclusive) {
  const Call call(runtime, comm);
  const TypedBuffer own = own_contribution(in, out);
  Receives receives(call, exclusive ? "MPI_Iexscan" : "MPI_Iscan");
  for (int rank = 0; rank < comm.rank; ++rank) receives.expect(rank);
  send_to_others_from(call, comm.rank + 1, own);
  return Operation(std::move(receives), [call, own, out, op, exclusive](Receives& come) {
    Arrivals arrivals(call, come);
    Fold fold(own, op);
    for (size_t i = 0; i < come.count(); ++i) fold.add(arrivals.next(own));
    if (!exclusive) fold.add_own(own);
    if (come.count() > 0 || !exclusive) fold.put_into(call, TypedBuffer{out, own.count, own.type}, own);
    return fold.error();
  });
}

}  // namespace spillway::collective
