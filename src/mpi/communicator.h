// What Spillway knows of a communicator: the contexts that keep its messages apart, and where its ranks are.
//
// The MPI library makes communicators; when one comes out of a library call, its members agree on a number of ours for
// it. It is unique in the job: made of the world rank of the member that proposes it and of that member's count.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "mpi/collective_lane.h"
#include "mpi/rank_groups.h"
#include "node/local_rank.h"

namespace spillway::mpi {

// What of a communicator a message belongs to; the low bits of its context.
enum class Traffic : uint64_t { point_to_point, collective, gathering, numbering };

struct Communicator {
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  MPI_Comm handle = MPI_COMM_NULL;
  uint64_t number = 0;
  int rank = 0;  // in the local group
  int size = 0;  // of the local group
  bool is_inter = false;
  std::vector<uint32_t> local_group;  // ranks of MPI_COMM_WORLD, by rank in the local group
  std::vector<uint32_t> peers;        // the same of those that messages go to: the remote group of an intercommunicator
  int promised_numbers = 0;           // of communicators that nonblocking calls make of this one
  bool has_stand_in = false;

  uint64_t context(Traffic traffic) const { return number << 2 | static_cast<uint64_t>(traffic); }
  int peer_count() const { return static_cast<int>(peers.size()); }

  // True at the one member that proposes the number of a communicator with these members: rank 0 of the group whose
  // first member has the lower world rank. The groups of an intercommunicator are disjoint, so both sides agree which
  // one that is.
  bool proposes() const { return rank == 0 && group_proposes(); }
  bool group_proposes() const { return !is_inter || local_group[0] < peers[0]; }

  // Of the collective operation that begins; its first step's. To be called once by each.
  int next_collective_tag() const { return lane_.next_tag(); }

  // Its ranks by nodes, and all in one group. REQUIRES: it is no intercommunicator.
  const RankGroups& groups_by_node(const node::LocalRank& self) const;
  const RankGroups& one_group() const;

  // Of both groups, in the same order everywhere.
  std::vector<uint32_t> members() const;

  // The same for its nonblocking collective operations. All ranks must call these and the blocking ones in the same
  // order, but the MPI libraries do not mind another one between the two, and there are programs that need that.
  std::shared_ptr<const Communicator> for_nonblocking();

  // The same for a persistent one that is being prepared: ranks may start these in different orders.
  std::shared_ptr<const Communicator> for_persistent();

  // The program has freed the communicator, but operations on it are open. From now on `handle` is a communicator of
  // our own, of this process alone, whose error handler is `error_handler`.
  void stand_in(MPI_Errhandler error_handler);

 private:
  std::shared_ptr<const Communicator> with_lane(CollectiveLane lane) const;

  // Counts what is done with the communicator, and is no part of what it is.
  mutable CollectiveLane lane_ = CollectiveLane::blocking();
  mutable std::unique_ptr<const RankGroups> by_node_;  // from when they are asked for
  mutable std::unique_ptr<const RankGroups> one_group_;
  std::shared_ptr<const Communicator> for_nonblocking_;
  uint32_t persistent_collectives_ = 0;  // that have been prepared on this one
};

using CommunicatorRef = std::shared_ptr<Communicator>;

class CommunicatorTable {
 public:
  // Makes the entries of MPI_COMM_WORLD and MPI_COMM_SELF.
  void start(int world_rank);

  // nullptr for a handle that is none of ours (MPI_COMM_NULL, or a communicator with processes of another job: the
  // library serves it).
  CommunicatorRef find(MPI_Comm handle);

  // Describes a communicator that the library has just made, for `enter`; nullptr for one that is none of ours.
  // Collective over its members, inside the library. REQUIRES: this thread holds no CallLock, or it would keep other
  // threads from doing the same, whom the members wait for that have begun with theirs.
  CommunicatorRef agree_on(MPI_Comm handle);
  void enter(const CommunicatorRef& made);

  // The same with a number that its members have agreed on already: waits for nobody.
  void enter(MPI_Comm handle, uint64_t number);

  // A number that nobody else proposes.
  uint64_t propose_number() { return static_cast<uint64_t>(world_rank_) << 32 | ++proposed_; }

  // Unless the library has used its handle again meanwhile, in another thread.
  void remove(const CommunicatorRef& ended);

 private:
  uint64_t agree_on_number(MPI_Comm handle, const Communicator& made);

  std::unordered_map<uint64_t, CommunicatorRef> table_;
  CommunicatorRef last_;  // most programs use one communicator most of the time
  std::atomic<uint64_t> proposed_ = 1;
  int world_rank_ = 0;
};

// World ranks of a group's members; false when one of them is not in MPI_COMM_WORLD.
bool world_ranks_of(MPI_Group group, std::vector<uint32_t>& ranks);

// An MPI handle as a number, whatever type the MPI library gives it.
template <typename Handle>
uint64_t handle_value(Handle handle) {
  if constexpr (sizeof(Handle) == sizeof(uint32_t))
    return static_cast<uint32_t>(handle);
  else
    return reinterpret_cast<uint64_t>(handle);
}

}  // namespace spillway::mpi
