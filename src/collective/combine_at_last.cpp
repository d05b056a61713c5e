#include "collective/combine_at_last.h"

#include "mpi/turn_to_combine.h"

namespace spillway::collective {
namespace {

const std::vector<int>& members_of_own(const Call& call, const RankGroups& groups) {
  return groups.ranks(groups.of(call.comm().rank));
}

// True for one rank of the group, for which all contributions of the group are there.
bool contribute_as_last(const Call& call, const RankGroups& groups, Receives& receives, const Parts& own) {
  if (members_of_own(call, groups).size() == 1) return true;
  mpi::TurnToCombine turn(call.runtime(), call.context(), call.tag(Step::first));
  contribute(call, groups, receives, own);
  call.runtime().take_news();
  return receives.missing() == 0 && turn.take();
}

}  // namespace

void contribute(const Call& call, const RankGroups& groups, Receives& receives, const Parts& own) {
  const std::vector<int> others = without(call.comm().rank, members_of_own(call, groups));
  for (int rank : others) receives.expect(rank, Content::own, Step::second);
  send_to_ranks(call, others, own, Step::second);
}

int combine_at_last(const Call& call, const RankGroups& groups, Receives& receives, const Parts& own, MPI_Op op,
                    const Deliver& deliver) {
  if (!contribute_as_last(call, groups, receives, own)) return MPI_SUCCESS;
  Arrivals arrivals(call, receives, 0, Reading::first);
  Fold fold(length_of(own), op);
  fold.add_ranks(members_of_own(call, groups), call.comm().rank, own, arrivals);
  deliver(fold);
  return fold.error();
}

}  // namespace spillway::collective
