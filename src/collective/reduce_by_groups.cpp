#include "collective/reduce_by_groups.h"

#include <memory>
#include <vector>

namespace spillway::collective {

// What comes: from the other members of the group, then from those who fold for other groups.
int reduce_by_groups(const Call& call, const char* operation, const RankGroups& groups, const TypedBuffer& own,
                     const TypedBuffer& filled, MPI_Op op, int root, const Deliver& deliver) {
  const int self = call.comm().rank, own_group = groups.of(self);
  const bool is_root = self == root;
  const int folding = own_group == groups.of(root) ? root : groups.first(own_group);
  if (self != folding) {
    send_to(call, folding, own);
    return MPI_SUCCESS;
  }
  const std::vector<int>& members = groups.ranks(own_group);
  Receives receives(call, operation);
  size_t messages = 0;
  for (int rank : members)
    if (rank != self) receives.expect(rank);
  for (int group = 0; is_root && group < groups.count(); ++group)
    if (group != own_group) messages = expect_pieces(receives, groups.first(group), Content::combined, own);
  if (is_root && filled.address != nullptr) receives.will_fill(filled);
  receives.wait();

  Arrivals arrivals(call, receives);
  if (is_root) {
    const std::unique_ptr<Fold> of_all = fold_of_groups(groups, self, own, op, arrivals, messages);
    deliver(*of_all);
    return of_all->error();
  }
  Fold of_group(own, op);
  of_group.add_ranks(members, self, {own}, arrivals);
  of_group.send_to(call, root, own.count);
  return of_group.error();
}

}  // namespace spillway::collective
