#include "collective/combine_at_last.h"
#include "mpi/runtime.h"

namespace spillway::collective {
namespace {

constexpr const char* kBarrier = "MPI_Barrier";

TypedBuffer nothing() { return TypedBuffer{nullptr, 0, MPI_BYTE}; }

int take(Receives& receives) {
  return receives.deliver_all([](int) { return nothing(); }, MPI_SUCCESS);
}

void hear(Receives& receives) {
  receives.wait();
  take(receives);
}

}  // namespace

// The first rank of each node hears of its node's ranks, rank 0 of these, then everybody hears of rank 0: who waits for
// that is woken once, and one message of each node goes to rank 0.
int barrier(Runtime& runtime, const Communicator& comm) {
  const Call call(runtime, comm);
  const RankGroups& nodes = comm.groups_by_node(runtime.self);
  const int node = nodes.of(comm.rank);
  if (comm.rank == nodes.first(node)) {
    Receives contributions(call, kBarrier);
    for (int rank : nodes.ranks(node))
      if (rank != comm.rank) contributions.expect(rank);
    for (int other = 1; comm.rank == 0 && other < nodes.count(); ++other)
      contributions.expect(nodes.first(other), Content::combined);
    hear(contributions);
  }
  if (comm.rank == 0) {
    send_to_others(call, nothing());
    return MPI_SUCCESS;
  }
  send_to(call, comm.rank == nodes.first(node) ? 0 : nodes.first(node), nothing());
  Receives end(call, kBarrier);
  end.expect(0, Content::combined);
  hear(end);
  return MPI_SUCCESS;
}

Operation barrier_of_all(Runtime& runtime, const Communicator& comm) {
  const Call call(runtime, comm);
  const RankGroups& nodes = comm.groups_by_node(runtime.self);
  const int own_node = nodes.of(comm.rank);
  Receives receives(call, "MPI_Ibarrier");
  if (nodes.count() == 1)
    contribute(call, nodes, receives, {nothing()});
  else
    combine_at_last(call, nodes, receives, {nothing()}, MPI_OP_NULL, [&](Fold&) {
      send_to_ranks(call.in_the_name_of(nodes.first(own_node)), nodes.others(own_node), {nothing()});
    });
  for (int node = 0; node < nodes.count(); ++node)
    if (node != own_node) receives.expect(nodes.first(node), Content::of_node);
  return Operation(std::move(receives), take);
}

}  // namespace spillway::collective
