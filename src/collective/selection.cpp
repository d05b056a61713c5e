#include "collective/selection.h"

#include <algorithm>

#include "mpi/runtime.h"

namespace spillway::collective {
namespace {

constexpr int kMostRanksOfAll = 256;                         // n ranks of a node: n * (n - 1) messages under way
constexpr uint64_t kMostBytesOfAll = 16 * mpi::kPieceBytes;  // that each rank takes

// A message between nodes costs some 100 microseconds, in which a network moves so much at least, and with each more
// block there is one more from every node and one more to every node.
constexpr uint64_t kLeastBlockBytes = 16 << 10;

// Up to here a few messages to and from rank 0 cost less than one between any two ranks.
constexpr uint64_t kMostBytesAtFirstRank = mpi::kPieceBytes;

uint64_t bytes_of(const TypedBuffer& contribution) {
  return contribution.count > 0 ? mpi::packed_bytes(contribution) : 0;
}

bool commutes(MPI_Op op) {
  int does = 0;
  PMPI_Op_commutative(op, &does);
  return does != 0;
}

bool do_nodes_combine(Runtime& runtime, const Communicator& comm, MPI_Op op) {
  const RankGroups& by_node = comm.groups_by_node(runtime.self);
  return commutes(op) || by_node.are_contiguous();
}

}  // namespace

bool is_small(const Communicator& comm, const TypedBuffer& contribution) {
  if (comm.size > kMostRanksOfAll) return false;
  return bytes_of(contribution) <= kMostBytesOfAll / static_cast<uint64_t>(comm.size);
}

// By nodes, so that one vector of each goes over the network. What does not commute needs the order of the ranks.
const RankGroups& groups_to_reduce(Runtime& runtime, const Communicator& comm, MPI_Op op) {
  return commutes(op) ? comm.groups_by_node(runtime.self) : groups_in_order(runtime, comm);
}

const RankGroups& groups_in_order(Runtime& runtime, const Communicator& comm) {
  const RankGroups& by_node = comm.groups_by_node(runtime.self);
  return by_node.are_contiguous() ? by_node : comm.one_group();
}

// As many as there are groups share the work, and what goes in and out of one node: with one block the first would take
// the vectors of all others and give the result to all of them.
int blocks_to_reduce(const RankGroups& groups, const TypedBuffer& contribution) {
  const uint64_t most = bytes_of(contribution) / kLeastBlockBytes;
  return static_cast<int>(std::clamp<uint64_t>(most, 1, static_cast<uint64_t>(groups.count())));
}

bool is_small_for_all(Runtime& runtime, const Communicator& comm, const TypedBuffer& contribution, MPI_Op op) {
  if (!do_nodes_combine(runtime, comm, op)) return is_small(comm, contribution);
  const auto nodes = static_cast<uint64_t>(comm.groups_by_node(runtime.self).count());
  return comm.size <= kMostRanksOfAll && bytes_of(contribution) <= kMostBytesOfAll / nodes;
}

bool is_folded_by_each(Runtime& runtime, const Communicator& comm, const TypedBuffer& contribution, MPI_Op op) {
  if (comm.size == 1 || !do_nodes_combine(runtime, comm, op)) return true;
  return comm.groups_by_node(runtime.self).count() == 1 && bytes_of(contribution) <= node::kInlineBytes;
}

bool is_scattered_by_first_rank(const TypedBuffer& contribution) {
  return bytes_of(contribution) <= kMostBytesAtFirstRank;
}

}  // namespace spillway::collective
