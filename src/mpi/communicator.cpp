#include "mpi/communicator.h"

#include <algorithm>
#include <numeric>

#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

// False when the communicator has members outside of MPI_COMM_WORLD.
bool describe(MPI_Comm handle, Communicator& made) {
  int inter = 0;
  PMPI_Comm_test_inter(handle, &inter);
  made.handle = handle;
  made.is_inter = inter != 0;
  PMPI_Comm_rank(handle, &made.rank);
  PMPI_Comm_size(handle, &made.size);
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(handle, &group);
  bool known = world_ranks_of(group, made.local_group);
  PMPI_Group_free(&group);
  made.peers = made.local_group;
  if (made.is_inter) {
    PMPI_Comm_remote_group(handle, &group);
    known = world_ranks_of(group, made.peers) && known;
    PMPI_Group_free(&group);
  }
  return known;
}

}  // namespace

std::shared_ptr<const Communicator> Communicator::with_lane(CollectiveLane lane) const {
  auto made = std::make_shared<Communicator>();
  made->handle = handle;
  made->number = number;
  made->rank = rank;
  made->size = size;
  made->is_inter = is_inter;
  made->local_group = local_group;
  made->peers = peers;
  made->lane_ = lane;
  return made;
}

std::vector<uint32_t> Communicator::members() const {
  if (!is_inter) return local_group;
  std::vector<uint32_t> both = group_proposes() ? local_group : peers;
  const std::vector<uint32_t>& others = group_proposes() ? peers : local_group;
  both.insert(both.end(), others.begin(), others.end());
  return both;
}

std::shared_ptr<const Communicator> Communicator::for_nonblocking() {
  if (for_nonblocking_ == nullptr) for_nonblocking_ = with_lane(CollectiveLane::nonblocking());
  return for_nonblocking_;
}

std::shared_ptr<const Communicator> Communicator::for_persistent() {
  return with_lane(CollectiveLane::persistent(persistent_collectives_++));
}

const RankGroups& Communicator::groups_by_node(const node::LocalRank& self) const {
  if (by_node_ == nullptr) {
    std::vector<uint32_t> nodes;
    nodes.reserve(peers.size());
    for (uint32_t peer : peers) nodes.push_back(self.place_of(peer).node);
    by_node_ = std::make_unique<const RankGroups>(nodes);
  }
  return *by_node_;
}

const RankGroups& Communicator::one_group() const {
  if (one_group_ == nullptr) one_group_ = std::make_unique<const RankGroups>(RankGroups::one(size));
  return *one_group_;
}

void Communicator::stand_in(MPI_Errhandler error_handler) {
  PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &handle);  // copies no attributes
  PMPI_Comm_set_errhandler(handle, error_handler);
  has_stand_in = true;
}

Communicator::~Communicator() {
  if (has_stand_in && active_runtime() != nullptr) PMPI_Comm_free(&handle);
}

bool world_ranks_of(MPI_Group group, std::vector<uint32_t>& ranks) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> from(static_cast<size_t>(size));
  std::vector<int> to(static_cast<size_t>(size));
  std::iota(from.begin(), from.end(), 0);
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, size, from.data(), world, to.data());
  PMPI_Group_free(&world);
  ranks.assign(to.begin(), to.end());
  for (int rank : to)
    if (rank == MPI_UNDEFINED) return false;
  return true;
}

void CommunicatorTable::start(int world_rank) {
  world_rank_ = world_rank;
  for (MPI_Comm handle : {MPI_COMM_WORLD, MPI_COMM_SELF}) {
    auto made = std::make_shared<Communicator>();
    describe(handle, *made);
    // Messages to oneself never leave the own matching engine, so every rank's MPI_COMM_SELF may have the same number.
    made->number = handle == MPI_COMM_WORLD ? 0 : 1;
    table_[handle_value(handle)] = made;
  }
}

CommunicatorRef CommunicatorTable::find(MPI_Comm handle) {
  if (last_ != nullptr && last_->handle == handle) return last_;
  auto found = table_.find(handle_value(handle));
  if (found == table_.end()) return nullptr;
  return last_ = found->second;
}

// A reduction on an intercommunicator gives each group what the other has: the first tells the other group, the second
// the rest of its own.
uint64_t CommunicatorTable::agree_on_number(MPI_Comm handle, const Communicator& made) {
  uint64_t number = made.proposes() ? propose_number() : 0;
  if (!made.is_inter) {
    PMPI_Bcast(&number, 1, MPI_UINT64_T, 0, handle);
    return number;
  }
  for (int step = 0; step < 2; ++step) {
    uint64_t theirs = 0;
    PMPI_Allreduce(&number, &theirs, 1, MPI_UINT64_T, MPI_MAX, handle);
    number = std::max(number, theirs);
  }
  return number;
}

CommunicatorRef CommunicatorTable::agree_on(MPI_Comm handle) {
  if (handle == MPI_COMM_NULL) return nullptr;
  auto made = std::make_shared<Communicator>();
  if (!describe(handle, *made)) return nullptr;
  made->number = agree_on_number(handle, *made);
  return made;
}

void CommunicatorTable::enter(const CommunicatorRef& made) {
  last_ = nullptr;  // the library may have used a handle again
  table_[handle_value(made->handle)] = made;
}

void CommunicatorTable::enter(MPI_Comm handle, uint64_t number) {
  auto made = std::make_shared<Communicator>();
  if (handle == MPI_COMM_NULL || !describe(handle, *made)) return;
  made->number = number;
  enter(made);
}

void CommunicatorTable::remove(const CommunicatorRef& ended) {
  if (last_ == ended) last_ = nullptr;
  const auto found = table_.find(handle_value(ended->handle));
  if (found != table_.end() && found->second == ended) table_.erase(found);
}

}  // namespace spillway::mpi
