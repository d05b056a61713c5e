#include "collective/combine_at_last.h"
#include "collective/reduce_by_groups.h"
#include "mpi/arguments.h"

namespace spillway::collective {
namespace {

constexpr const char* kReduceScatter = "MPI_Reduce_scatter";

// Rank 0 folds: few messages.
int fold_at_first_rank(Runtime& runtime, const Communicator& comm, const TypedBuffer& own, void* out,
                       const Numbers& counts, MPI_Op op) {
  const Call call(runtime, comm);
  const TypedBuffer mine{out, counts[comm.rank], own.type};
  const auto deliver = [&](Fold& fold) {
    fold.put_into(call, mine, own);
    for (int rank = 1; rank < comm.size; ++rank) fold.send_to(call, rank, counts[rank]);
  };
  const int error = reduce_by_groups(call, kReduceScatter, groups_to_reduce(runtime, comm, op), own,
                                     TypedBuffer{nullptr, 0, own.type}, op, 0, deliver);
  if (comm.rank == 0) return error;
  const int error_of_receive = receive_pieces(call, kReduceScatter, 0, mine);
  return error != MPI_SUCCESS ? error : error_of_receive;
}

}  // namespace

int reduce_scatter(Runtime& runtime, const Communicator& comm, const void* in, void* out, const Numbers& counts,
                   MPI_Datatype type, MPI_Op op) {
  TypedBuffer own = mpi::input_buffer(in == MPI_IN_PLACE ? out : in, 0, type);
  for (int rank = 0; rank < comm.size; ++rank) own.count += counts[rank];
  if (!is_scattered_by_first_rank(own))
    return run(comm, reduce_scatter_of_all(runtime, comm, in, out, counts, type, op));
  return mpi::raise(comm.handle, fold_at_first_rank(runtime, comm, own, out, counts, op));
}

// Each rank gets its slice of what its group has contributed, and of what others have that is folded already, and folds
// it.
Operation reduce_scatter_of_all(Runtime& runtime, const Communicator& comm, const void* in, void* out,
                                const Numbers& counts, MPI_Datatype type, MPI_Op op) {
  const Call call(runtime, comm);
  const RankGroups& groups = groups_to_reduce(runtime, comm, op);
  const int own_group = groups.of(comm.rank);
  TypedBuffer slice = mpi::input_buffer(in == MPI_IN_PLACE ? out : in, 0, type);
  TypedBuffer own;
  Parts of_others;
  for (int rank = 0; rank < comm.size; ++rank) {
    slice.count = counts[rank];
    if (rank == comm.rank)
      own = slice;
    else if (groups.of(rank) == own_group)
      send_to(call, rank, slice);
    else
      of_others.push_back(slice);
    slice = mpi::shifted(slice, slice.count);
  }

  Receives receives(call, kReduceScatter);
  int error_of_group = MPI_SUCCESS;
  if (groups.count() > 1)
    error_of_group = combine_at_last(call, groups, receives, of_others, op, [&](Fold& fold) {
      const Call of_group = call.in_the_name_of(groups.first(own_group));
      for (int rank : groups.others(own_group)) fold.send_to(of_group, rank, counts[rank]);
    });
  receives.drop_from(0);
  for (int rank : groups.ranks(own_group))
    if (rank != comm.rank) receives.expect(rank);
  size_t messages = 0;
  for (int group = 0; group < groups.count(); ++group)
    if (group != own_group) messages = expect_pieces(receives, groups.first(group), Content::of_node, own);
  return Operation(std::move(receives), [=, &groups](Receives& come) {
    const int error = fold_groups_into(call, groups, own, out, op, Arrivals(call, come), messages);
    return error_of_group != MPI_SUCCESS ? error_of_group : error;
  });
}

}  // namespace spillway::collective
