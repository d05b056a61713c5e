#include "collective/combine_at_last.h"
#include "collective/reduce_by_groups.h"
#include "mpi/arguments.h"

namespace spillway::collective {

int reduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, int root) {
  const Call call(runtime, comm);
  const TypedBuffer own = own_contribution(in, out);
  const TypedBuffer result{out, own.count, own.type};
  const TypedBuffer filled{own.address != out ? out : nullptr, own.count, own.type};
  return mpi::raise(comm.handle, reduce_by_groups(call, "MPI_Reduce", groups_to_reduce(runtime, comm, op), own, filled,
                                                  op, root, [&](Fold& fold) { fold.put_into(call, result, own); }));
}

Operation reduce_to_root(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op,
                         int root) {
  const Call call(runtime, comm);
  const RankGroups& groups = groups_to_reduce(runtime, comm, op);
  const int own_group = groups.of(comm.rank);
  Receives receives(call, "MPI_Ireduce");
  if (own_group != groups.of(root)) {
    const int error = combine_at_last(call, groups, receives, {in}, op, [&](Fold& fold) {
      fold.send_to(call.in_the_name_of(groups.first(own_group)), root, in.count);
    });
    receives.drop_from(0);
    return ended(std::move(receives), error);
  }
  if (comm.rank != root) {
    send_to(call, root, in);
    return ended(std::move(receives));
  }
  const TypedBuffer own = own_contribution(in, out);
  size_t messages = 0;
  for (int rank : groups.ranks(own_group))
    if (rank != root) receives.expect(rank);
  for (int group = 0; group < groups.count(); ++group)
    if (group != own_group) messages = expect_pieces(receives, groups.first(group), Content::of_node, own);
  if (own.address != out) receives.will_fill(TypedBuffer{out, own.count, own.type});
  return Operation(std::move(receives), [call, &groups, own, out, op, messages](Receives& come) {
    return fold_groups_into(call, groups, own, out, op, Arrivals(call, come), messages);
  });
}

}  // namespace spillway::collective
