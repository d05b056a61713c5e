#include "collective/combine_at_last.h"

#include "mpi/turn_to_combine.h"

namespace spillway::collective {
namespace {

void contribute(const Call& call, const std::vector<int>& members, Receives& receives, const Parts& own) {
  for (int rank : members)
    if (rank != call.comm().rank) receives.expect(rank, Step::second);
  send_to_ranks(call, members, own, Step::second);
}

// True for one rank of the group, for which all contributions of the group are there.
bool contribute_as_last(const Call& call, const std::vector<int>& members, Receives& receives, const Parts& own) {
  if (members.size() == 1) return true;
  mpi::TurnToCombine turn(call.runtime(), call.context(), call.tag(Step::first));
  contribute(call, members, receives, own);
  call.runtime().take_news();
  return receives.missing() == 0 && turn.take();
}

}  // namespace

int combine_at_last(const Call& call, const RankGroups& groups, Receives& receives, const Parts& own, MPI_Op op,
                    const Deliver& deliver) {
  const int self = call.comm().rank;
  const std::vector<int>& members = groups.ranks(groups.of(self));
  if (groups.count() == 1) {
    contribute(call, members, receives, own);
    return MPI_SUCCESS;
  }
  if (!contribute_as_last(call, members, receives, own)) return MPI_SUCCESS;
  Arrivals arrivals(call, receives, 0, Reading::first);
  Fold fold(length_of(own), op);
  fold.add_ranks(members, self, own, arrivals);
  deliver(fold);
  return fold.error();
}

}  // namespace spillway::collective
