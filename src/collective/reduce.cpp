#include <utility>

#include "collective/fold.h"
#include "collective/selection.h"
#include "mpi/arguments.h"

namespace spillway::collective {
namespace {

constexpr const char* kReduce = "MPI_Reduce";

// The other members of the group, then those who fold for other groups.
int fold_contributions(const Call& call, const RankGroups& groups, const TypedBuffer& own, void* out, MPI_Op op,
                       int root) {
  const int self = call.comm().rank, own_group = groups.of(self);
  const std::vector<int>& members = groups.ranks(own_group);
  const bool is_root = self == root;
  Receives receives(call, kReduce);
  size_t messages = 0;
  for (int rank : members)
    if (rank != self) receives.expect(rank);
  for (int group = 0; is_root && group < groups.count(); ++group)
    if (group != own_group) messages = expect_pieces(receives, groups.first(group), own);
  if (is_root && own.address != out) receives.will_fill(TypedBuffer{out, own.count, own.type});
  receives.wait();

  Arrivals arrivals(call, receives);
  auto fold = std::make_unique<Fold>(own, op);
  fold->add_ranks(members, self, own, arrivals);
  if (!is_root) {
    fold->send_to(call, root, own.count);
    return fold->error();
  }
  if (groups.count() > 1) {
    std::unique_ptr<Fold> of_group = std::exchange(fold, std::make_unique<Fold>(own, op));
    for (int group = 0; group < groups.count(); ++group)
      fold->add(group == own_group ? std::move(of_group) : arrivals.next(own, messages));
  }
  fold->put_into(call, TypedBuffer{out, own.count, own.type}, own);
  return fold->error();
}

}  // namespace

// The first rank of each group folds for it, and the root for its own group and for all.
int reduce(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op, int root) {
  const Call call(runtime, comm);
  const RankGroups& groups = groups_to_reduce(runtime, comm, op);
  const int group = groups.of(comm.rank);
  const int folding = group == groups.of(root) ? root : groups.first(group);
  if (comm.rank != folding) {
    send_to(call, folding, in);
    return MPI_SUCCESS;
  }
  return mpi::raise(comm.handle, fold_contributions(call, groups, own_contribution(in, out), out, op, root));
}

Operation reduce_to_root(Runtime& runtime, const Communicator& comm, const TypedBuffer& in, void* out, MPI_Op op,
                         int root) {
  const Call call(runtime, comm);
  Receives receives(call, "MPI_Ireduce");
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

}  // namespace spillway::collective
