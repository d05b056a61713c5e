// The first step of reductions that rely on nobody after its call: one vector of each group of ranks, which are those
// of a node, goes to the other groups.
//
// Whoever begins last in its group combines: it is in a call then, and what the others of the group have contributed is
// there. As nobody knows who will be the last, each gives its vector to all others of the group, once for all. What
// comes of it is sent in the name of the group's first rank.
#pragma once

#include "collective/fold.h"

namespace spillway::collective {

// Gives `own` to the other ranks of this rank's group, and expects theirs.
void contribute(const Call& call, const RankGroups& groups, Receives& receives, const Parts& own);

// The same, where `receives` has no others yet; and one rank of the group folds what all have given and calls
// `deliver`. What has come stays. An MPI error class.
int combine_at_last(const Call& call, const RankGroups& groups, Receives& receives, const Parts& own, MPI_Op op,
                    const Deliver& deliver);

}  // namespace spillway::collective
