#include "mpi/request.h"

#include "base/error.h"

namespace spillway::mpi {
namespace {

int query(void*, MPI_Status* status) {
  set_status(status, Outcome{});
  return MPI_SUCCESS;
}
int do_nothing(void*) { return MPI_SUCCESS; }
int do_nothing_on_cancel(void*, int) { return MPI_SUCCESS; }

MPI_Request new_handle() {
  MPI_Request handle = MPI_REQUEST_NULL;
  const int code = PMPI_Grequest_start(query, do_nothing, do_nothing_on_cancel, nullptr, &handle);
  if (code != MPI_SUCCESS) base::fatal("the MPI library cannot make a request handle (error code %d)", code);
  return handle;
}

}  // namespace

Request& RequestTable::create() {
  auto request = std::make_unique<Request>();
  if (idle_handles_.empty()) {
    request->handle = new_handle();
  } else {
    request->handle = idle_handles_.back();
    idle_handles_.pop_back();
  }
  Request& made = *request;
  live_[handle_value(made.handle)] = std::move(request);
  return made;
}

Request* RequestTable::find(MPI_Request handle) {
  const auto found = live_.find(handle_value(handle));
  return found == live_.end() ? nullptr : found->second.get();
}

bool RequestTable::is_active(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return false;
  if (const Request* ours = find(handle); ours != nullptr) return ours->is_active;
  const auto known = library_.find(handle_value(handle));
  return known == library_.end() || !known->second.is_persistent || known->second.is_active();
}

void RequestTable::remove(Request& request) {
  idle_handles_.push_back(request.handle);
  live_.erase(handle_value(request.handle));
}

void RequestTable::orphan(Request& request) {
  idle_handles_.push_back(request.handle);
  auto node = live_.extract(handle_value(request.handle));
  orphans_.push_back(std::move(node.mapped()));
}

void RequestTable::release_handles() {
  for (MPI_Request handle : idle_handles_) {
    PMPI_Grequest_complete(handle);
    PMPI_Request_free(&handle);
  }
  idle_handles_.clear();
}

void set_status(MPI_Status* status, const Outcome& outcome, bool with_error) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(outcome.bytes));
  PMPI_Status_set_cancelled(status, outcome.cancelled ? 1 : 0);
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  if (with_error) status->MPI_ERROR = outcome.error;
}

Outcome null_process_outcome() {
  Outcome outcome;
  outcome.source = MPI_PROC_NULL;
  return outcome;
}

}  // namespace spillway::mpi
