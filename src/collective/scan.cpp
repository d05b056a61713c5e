#include "collective/combine_at_last.h"
#include "mpi/arguments.h"

namespace spillway::collective {

// The first rank of each group takes the prefix that the group before it ends with, goes on with what its own ranks
// contribute, and hands each prefix on as it comes, the last one to the next group. Exclusive: rank i gets the prefix
// that ends before it; rank 0 gets nothing.
int scan(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, bool exclusive) {
  const Call call(runtime, comm);
  const RankGroups& groups = groups_in_order(runtime, comm);
  const int group = groups.of(comm.rank), folding = groups.first(group);
  const TypedBuffer own = own_contribution(in, out);
  const TypedBuffer mine{out, in.count, in.type};
  const char* operation = exclusive ? "MPI_Exscan" : "MPI_Scan";
  if (comm.rank != folding) {
    send_to(call, folding, own);
    return mpi::raise(comm.handle, receive_pieces(call, operation, folding, mine));
  }
  const std::vector<int>& members = groups.ranks(group);
  Receives receives(call, operation);
  const size_t messages = group > 0 ? expect_pieces(receives, groups.first(group - 1), Content::combined, own) : 0;
  for (int rank : members)
    if (rank != comm.rank) receives.expect(rank);
  receives.wait();
  Arrivals arrivals(call, receives);
  Fold fold(own, op);
  if (group > 0) fold.add(arrivals.next(own, messages));
  fold.add_ranks(members, comm.rank, {own}, arrivals);
  for_each_piece(own.count, own.type, [&](MPI_Count begin, MPI_Count count) {
    fold.begin_piece(count);
    if (group > 0) fold.step();
    for (int rank : members) {
      fold.step();
      if (exclusive && rank == 0) continue;
      const TypedBuffer& prefix = exclusive ? fold.value_before() : fold.value();
      if (rank == comm.rank)
        copy_local(prefix, piece_of(mine, begin, count));
      else
        send_to(call, rank, prefix);
    }
    if (group + 1 < groups.count()) send_to(call, groups.first(group + 1), fold.value());
  });
  return mpi::raise(comm.handle, fold.error());
}

// Each rank folds the contributions of the ranks before it in its group with those of the groups before.
Operation scan_of_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op,
                      bool exclusive) {
  const Call call(runtime, comm);
  const RankGroups& groups = groups_in_order(runtime, comm);
  const int group = groups.of(comm.rank);
  const std::vector<int>& members = groups.ranks(group);
  const auto before = static_cast<size_t>(comm.rank - groups.first(group));  // ranks of the group
  const TypedBuffer own = own_contribution(in, out);
  Receives receives(call, exclusive ? "MPI_Iexscan" : "MPI_Iscan");
  int error_of_group = MPI_SUCCESS;
  if (group + 1 < groups.count()) {
    const std::vector<int> receivers = ranks_from(comm, groups.last(group) + 1);
    error_of_group = combine_at_last(call, groups, receives, {own}, op, [&](Fold& fold) {
      fold.send_to_ranks(call.in_the_name_of(groups.first(group)), receivers, own.count);
    });
    receives.drop_from(before);
  } else {
    for (size_t i = 0; i < before; ++i) receives.expect(members[i]);
    send_to_ranks(call, ranks_from(comm, comm.rank + 1), {own});
  }
  for (int other = 0; other < group; ++other) receives.expect(groups.first(other), Content::of_node);
  return Operation(std::move(receives), [=](Receives& come) {
    Arrivals groups_before(call, come, before), ranks_before(call, come);
    Fold fold(own, op);
    for (int other = 0; other < group; ++other) fold.add(groups_before.next(own));
    for (size_t i = 0; i < before; ++i) fold.add(ranks_before.next(own));
    if (!exclusive) fold.add_own({own});
    if (call.comm().rank > 0 || !exclusive) fold.put_into(call, TypedBuffer{out, own.count, own.type}, own);
    return error_of_group != MPI_SUCCESS ? error_of_group : fold.error();
  });
}

}  // namespace spillway::collective
