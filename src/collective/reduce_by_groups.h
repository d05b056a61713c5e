// The first step of reductions with local reduction (Twister 5.1): one vector of each group of ranks goes to the root.
#pragma once

#include "collective/fold.h"
#include "collective/selection.h"

namespace spillway::collective {

// The first rank of each group folds for it, and the root for its own group and for all: there `deliver` gets the fold
// of all. `filled` is what it will write to in the root's memory besides `own`; its address may be null. All others
// send only. An MPI error class.
int reduce_by_groups(const Call& call, const char* operation, const RankGroups& groups, const TypedBuffer& own,
                     const TypedBuffer& filled, MPI_Op op, int root, const Deliver& deliver);

}  // namespace spillway::collective
