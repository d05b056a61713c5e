#include "interpose/delegated_call.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <deque>

#include "mpi/runtime.h"
#include "mpi/transfer.h"

namespace spillway::interpose {
namespace {

using mpi::Runtime;

// MPICH's ranks spin while they wait in a call, each until the end of its time slice of some milliseconds when there
// are more of them than processors. Open MPI's give way by themselves.
#ifdef OPEN_MPI
constexpr bool kRanksSpin = false;
#else
constexpr bool kRanksSpin = true;
#endif

// Where no communicator is given: a context for the members in this order. With another order the first one is another,
// and of two groups that gather at a time each could take the other's signals. No communicator has such a number.
uint64_t context_of(const std::vector<uint32_t>& members) {
  uint64_t number = members.size();
  for (uint32_t member : members) number = (number ^ member) * 0x9e3779b97f4a7c15u;
  return (number >> 8 | uint64_t{1} << 61) << 2 | static_cast<uint64_t>(mpi::Traffic::gathering);
}

// Receives of nothing from some ranks; true once all have come.
class Signals {
 public:
  Signals(Runtime& runtime, uint64_t context, const std::vector<uint32_t>& senders) : runtime_(runtime) {
    runtime.take_news();
    for (uint32_t sender : senders) {
      message::PostedReceive& receive = receives_.emplace_back();
      receive.context = context;
      receive.source = static_cast<int32_t>(sender);
      receive.tag = 0;
      runtime.matching.post(&receive);
    }
  }

  uint64_t missing() const {
    return static_cast<uint64_t>(
        std::count_if(receives_.begin(), receives_.end(), [](const auto& r) { return r.matched == nullptr; }));
  }

  void sleep(const char* function) {
    if (missing() == 0) return;
    auto& record = runtime_.self.record();
    snprintf(record.waits_for, sizeof record.waits_for, "%s: %llu ranks have not called it", function,
             static_cast<unsigned long long>(missing()));
    runtime_.scheduler.sleep_until([this] { return missing() == 0; }, [this] { return missing(); });
  }

 private:
  Runtime& runtime_;
  std::deque<message::PostedReceive> receives_;
};

// A barrier of `members` (ranks of MPI_COMM_WORLD), asleep: after it all enter the library at once. The first member
// hears of all others, then all of it.
void gather_asleep(Runtime& runtime, uint64_t context, const std::vector<uint32_t>& members, const char* function) {
  if (members.size() <= 1) return;
  const uint32_t me = runtime.self.world_rank();
  const auto signal = [&](uint32_t to) {
    mpi::send_bytes(runtime, mpi::Address{to, context, static_cast<int>(me), 0}, nullptr, 0);
  };
  if (me != members[0]) {
    signal(members[0]);
    Signals(runtime, context, {members[0]}).sleep(function);
    return;
  }
  const std::vector<uint32_t> others(members.begin() + 1, members.end());
  Signals(runtime, context, others).sleep(function);
  for (uint32_t other : others) signal(other);
}

// The same of a group, which it frees. Processes that are no ranks of the job cannot be gathered.
void gather_members(Runtime& runtime, MPI_Group group, const char* function) {
  std::vector<uint32_t> members;
  if (mpi::world_ranks_of(group, members)) gather_asleep(runtime, context_of(members), members, function);
  PMPI_Group_free(&group);
}

bool is_followed(Runtime& runtime, MPI_Comm comm) {
  const mpi::CallLock lock;
  return runtime.communicators.find(comm) != nullptr;
}

}  // namespace

LibraryCall::LibraryCall()
    : runtime_(UnmanagedScope::is_inside() ? nullptr : mpi::active_runtime()), lock_(runtime_ != nullptr) {}

void LibraryCall::leave_slot(node::RankState state) {
  runtime_->prepare_to_sleep();
  runtime_->scheduler.leave(state);
  is_away_ = true;
}

void LibraryCall::enter_library() {
  runtime_->scheduler.enter_library();
  runtime_->begin_library_call();
  lock_.release();
}

void LibraryCall::created(int code, MPI_Comm* newcomm) {
  if (runtime_ == nullptr || code != MPI_SUCCESS) return;
  const mpi::CommunicatorRef made = runtime_->communicators.agree_on(*newcomm);
  if (made == nullptr) return;
  const mpi::CallLock lock;
  runtime_->communicators.enter(made);
}

template <typename Tell>
void LibraryCall::tell_windows(Tell tell) {
  if (runtime_ != nullptr) tell(runtime_->windows);
}

LibraryCall::~LibraryCall() {
  if (!is_away_) return;
  const mpi::CallLock lock;
  runtime_->update_pinned_bytes();
  runtime_->end_library_call();
  runtime_->unload_again();
  runtime_->scheduler.come_back();
}

DelegatedCollective::DelegatedCollective(const char* function, MPI_Comm over) {
  Runtime* runtime = call_.runtime();
  if (runtime == nullptr) return;
  const mpi::CommunicatorRef comm = runtime->communicators.find(over);
  call_.leave_slot(node::RankState::blocked_collective);
  if (comm != nullptr) {
    gather_asleep(*runtime, comm->context(mpi::Traffic::gathering), comm->members(), function);
    must_take_turns_ = kRanksSpin && !runtime->self.has_processor_of_its_own();
  }
  call_.enter_library();
}

DelegatedCollective::DelegatedCollective(const char* function, OverGroup over) {
  Runtime* runtime = call_.runtime();
  if (runtime == nullptr) return;
  call_.leave_slot(node::RankState::blocked_collective);
  std::vector<uint32_t> members;
  if (over.group != MPI_GROUP_NULL && mpi::world_ranks_of(over.group, members))
    gather_asleep(*runtime, context_of(members), members, function);
  call_.enter_library();
}

DelegatedCollective::DelegatedCollective(const char* function, OverFile over) { gather_file(function, over.file); }

DelegatedCollective::DelegatedCollective(const char* function, OverFile over, const void* buffer, MPI_Count count,
                                         MPI_Datatype type) {
  const mpi::Span span =
      call_.runtime() == nullptr || type == MPI_DATATYPE_NULL ? mpi::Span{} : mpi::span_of(count, type);
  if (span.bytes != 0) lent_ = call_.runtime()->windows.lent(static_cast<const char*>(buffer) + span.first, span.bytes);
  gather_file(function, over.file);
}

void DelegatedCollective::gather_file(const char* function, MPI_File file) {
  Runtime* runtime = call_.runtime();
  if (runtime == nullptr) return;
  file_ = mpi::handle_value(file);
  call_.leave_slot(node::RankState::blocked_collective);
  MPI_Group group = MPI_GROUP_NULL;
  if (file != MPI_FILE_NULL && PMPI_File_get_group(file, &group) == MPI_SUCCESS)
    gather_members(*runtime, group, function);
  call_.enter_library();
}

DelegatedCollective::DelegatedCollective(const char* function, OverWindow over) {
  Runtime* runtime = call_.runtime();
  if (runtime == nullptr) return;
  call_.leave_slot(node::RankState::blocked_collective);
  MPI_Group group = MPI_GROUP_NULL;
  if (over.window != MPI_Win{} && PMPI_Win_get_group(over.window, &group) == MPI_SUCCESS)
    gather_members(*runtime, group, function);
  call_.enter_library();
}

DelegatedCollective::~DelegatedCollective() {
  if (lent_ != 0) call_.tell_windows([this](mpi::Windows& windows) { windows.taken_back(lent_); });
}

int DelegatedCollective::wait_in_turns(int code, MPI_Request* request) {
  for (int flag = 0; code == MPI_SUCCESS; sched_yield()) {
    code = PMPI_Test(request, &flag, MPI_STATUS_IGNORE);
    if (flag != 0) break;
  }
  return code;
}

void DelegatedCollective::created(int code, MPI_Comm* newcomm, MPI_Comm over) {
  if (call_.runtime() == nullptr || (over != MPI_COMM_NULL && !is_followed(*call_.runtime(), over))) return;
  call_.created(code, newcomm);
}

void DelegatedCollective::opened(int code) {
  Runtime* runtime = call_.runtime();
  if (runtime == nullptr || code != MPI_SUCCESS) return;
  const mpi::CallLock lock;
  if (runtime->busy_files.insert(file_).second) runtime->pin();
}

void DelegatedCollective::closed(int /*code*/) {
  Runtime* runtime = call_.runtime();
  if (runtime == nullptr) return;
  const mpi::CallLock lock;
  if (runtime->busy_files.erase(file_) != 0) runtime->unpin();
}

void DelegatedCollective::window_made(int code, const MPI_Win* win, const void* base, MPI_Aint bytes) {
  if (code != MPI_SUCCESS) return;
  call_.tell_windows(
      [&](mpi::Windows& windows) { windows.made(mpi::handle_value(*win), base, static_cast<uint64_t>(bytes)); });
}

void DelegatedCollective::window_leaves(const MPI_Win* win) {
  if (win != nullptr)
    call_.tell_windows([&](mpi::Windows& windows) { window_ = windows.leaves(mpi::handle_value(*win)); });
}

void DelegatedCollective::window_has_left(int code) {
  call_.tell_windows([&](mpi::Windows& windows) { windows.has_left(window_, code == MPI_SUCCESS); });
}

void DelegatedCollective::operations_complete() {
  call_.tell_windows([&](const mpi::Windows& windows) { begun_ = windows.completes(); });
}

void DelegatedCollective::operations_have_completed(int code, MPI_Win win) {
  if (code != MPI_SUCCESS) return;
  call_.tell_windows([&](mpi::Windows& windows) { windows.have_completed(mpi::handle_value(win), {}, begun_); });
}

DelegatedBlocking::DelegatedBlocking(const char*) {
  if (call_.runtime() == nullptr) return;
  call_.leave_slot(node::RankState::delegated);
  call_.enter_library();
}

DelegatedBlocking::~DelegatedBlocking() = default;

void DelegatedBlocking::window_attached(int code, MPI_Win win, const void* base, MPI_Aint bytes) {
  if (code != MPI_SUCCESS) return;
  call_.tell_windows(
      [&](mpi::Windows& windows) { windows.attached(mpi::handle_value(win), base, static_cast<uint64_t>(bytes)); });
}

void DelegatedBlocking::window_detached(int code, MPI_Win win, const void* base) {
  if (code != MPI_SUCCESS) return;
  call_.tell_windows([&](mpi::Windows& windows) { windows.detached(mpi::handle_value(win), base); });
}

void DelegatedBlocking::operation_begun(int code, MPI_Win win, int target, const void* address, MPI_Count count,
                                        MPI_Datatype type) {
  if (code != MPI_SUCCESS || target == MPI_PROC_NULL) return;
  call_.tell_windows([&](mpi::Windows& windows) {
    // What only fetches may have no type at its origin (MPI_NO_OP).
    const mpi::Span span = type == MPI_DATATYPE_NULL ? mpi::Span{} : mpi::span_of(count, type);
    windows.begun(mpi::handle_value(win), target, static_cast<const char*>(address) + span.first, span.bytes);
  });
}

void DelegatedBlocking::operations_complete() {
  call_.tell_windows([&](const mpi::Windows& windows) { begun_ = windows.completes(); });
}

void DelegatedBlocking::operations_have_completed(int code, MPI_Win win, int target) {
  if (code != MPI_SUCCESS) return;
  call_.tell_windows([&](mpi::Windows& windows) { windows.have_completed(mpi::handle_value(win), target, begun_); });
}

void DelegatedBlocking::operations_have_completed(int code, MPI_Win win) {
  if (code != MPI_SUCCESS) return;
  call_.tell_windows([&](mpi::Windows& windows) { windows.have_completed(mpi::handle_value(win), {}, begun_); });
}

// Before the call: the library may work on the buffers before it returns, and another thread must not unload them.
DelegatedRequest::DelegatedRequest(const char*)
    : runtime_(UnmanagedScope::is_inside() ? nullptr : mpi::active_runtime()) {
  if (runtime_ == nullptr) return;
  const mpi::CallLock lock;
  runtime_->pin();
}

DelegatedRequest::~DelegatedRequest() {
  if (runtime_ != nullptr && !has_started_) runtime_->unpin();
}

void DelegatedRequest::started(int code, MPI_Request* request) {
  if (runtime_ == nullptr || code != MPI_SUCCESS || *request == MPI_REQUEST_NULL) return;
  const mpi::CallLock lock;
  mpi::LibraryRequest& known = runtime_->requests.library()[mpi::handle_value(*request)];
  known.is_persistent = false;
  ++known.active_count;
  if (promised_.handle != MPI_COMM_NULL) known.promised.push_back(promised_);
  has_started_ = true;
}

void DelegatedRequest::prepared(int code, MPI_Request* request) {
  if (runtime_ == nullptr || code != MPI_SUCCESS || *request == MPI_REQUEST_NULL) return;
  const mpi::CallLock lock;
  runtime_->requests.library()[mpi::handle_value(*request)].is_persistent = true;
}

void DelegatedRequest::created(int code, MPI_Comm* newcomm, MPI_Comm over) {
  if (runtime_ == nullptr || code != MPI_SUCCESS) return;
  const mpi::CallLock lock;
  promised_ = mpi::promise_communicator(*runtime_, *newcomm, runtime_->communicators.find(over));
}

}  // namespace spillway::interpose
