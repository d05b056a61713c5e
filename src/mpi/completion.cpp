#include "mpi/completion.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "mpi/arguments.h"
#include "mpi/point_to_point.h"
#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

constexpr uint64_t kLeastPauseNs = 20000;
constexpr uint64_t kLongestPauseNs = 1000000;

// The program's array of requests, seen as what Spillway knows of each.
class RequestArray {
 public:
  RequestArray(Runtime& runtime, int count, MPI_Request* requests)
      : runtime_(runtime), requests_(requests), ours_(static_cast<size_t>(std::max(count, 0)), nullptr) {
    for (size_t i = 0; i < ours_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      ours_[i] = runtime.requests.find(requests_[i]);
      if (ours_[i] == nullptr) has_library_requests_ = true;
    }
  }

  size_t count() const { return ours_.size(); }
  bool has_library_requests() const { return has_library_requests_; }

  // Null requests and inactive persistent ones: nothing to wait for.
  bool is_idle(size_t i) const {
    if (requests_[i] == MPI_REQUEST_NULL) return true;
    if (ours_[i] != nullptr) return !ours_[i]->is_active;
    const auto known = runtime_.requests.library().find(handle_value(requests_[i]));
    return known != runtime_.requests.library().end() && known->second.is_persistent && !known->second.is_active;
  }

  bool ours_can_complete(size_t i) const { return ours_[i] != nullptr && can_complete(runtime_, *ours_[i]); }

  // Messages of ours that are still missing; what a wait for all needs at least.
  uint64_t missing() const {
    uint64_t missing = 0;
    for (const Request* request : ours_)
      if (request != nullptr && !can_complete(runtime_, *request)) ++missing;
    return std::max<uint64_t>(missing, 1);
  }

  bool all_ours_can_complete() const {
    return std::all_of(ours_.begin(), ours_.end(), [&](const Request* r) { return r == nullptr || can_complete(runtime_, *r); });
  }

  bool any_of_ours_can_complete() const {
    for (size_t i = 0; i < count(); ++i)
      if (ours_[i] != nullptr && ours_[i]->is_active && ours_can_complete(i)) return true;
    return false;
  }

  bool all_idle() const {
    for (size_t i = 0; i < count(); ++i)
      if (!is_idle(i)) return false;
    return true;
  }

  void describe_first_open(char* text, size_t size) const {
    for (const Request* request : ours_) {
      if (request == nullptr || can_complete(runtime_, *request)) continue;
      describe(*request, text, size);
      return;
    }
    snprintf(text, size, "a request of the MPI library");
  }

  // Ends request i if it can be; fills the status and gives the error class. Returns false if it is still open.
  bool try_end(size_t i, MPI_Status* status, bool with_error, int& error) {
    error = MPI_SUCCESS;
    if (requests_[i] == MPI_REQUEST_NULL) {
      set_status(status, Outcome{}, with_error);
      return true;
    }
    return ours_[i] != nullptr ? try_end_ours(i, status, with_error, error) : try_end_library(i, status, error);
  }

  MPI_Comm communicator_of(size_t i) const {
    return ours_[i] != nullptr ? ours_[i]->communicator->handle : MPI_COMM_WORLD;
  }

 private:
  bool try_end_ours(size_t i, MPI_Status* status, bool with_error, int& error) {
    Request& request = *ours_[i];
    if (!request.is_active) {
      set_status(status, Outcome{}, with_error);
      return true;
    }
    if (!can_complete(runtime_, request)) return false;
    complete(runtime_, request);
    set_status(status, request.outcome, with_error);
    error = request.outcome.error;
    request.is_active = false;
    if (request.is_persistent) return true;
    runtime_.requests.remove(request);
    ours_[i] = nullptr;
    requests_[i] = MPI_REQUEST_NULL;
    return true;
  }

  bool try_end_library(size_t i, MPI_Status* status, int& error) {
    const uint64_t key = handle_value(requests_[i]);
    int flag = 0;
    error = PMPI_Test(&requests_[i], &flag, status);
    if (flag == 0 && error == MPI_SUCCESS) return false;
    auto& library = runtime_.requests.library();
    const auto known = library.find(key);
    if (known == library.end()) return true;
    if (known->second.is_active) runtime_.unpin();
    known->second.is_active = false;
    if (known->second.made != nullptr) runtime_.communicators.enter(*known->second.made);
    if (requests_[i] == MPI_REQUEST_NULL) library.erase(known);
    return true;
  }

  Runtime& runtime_;
  MPI_Request* requests_;
  std::vector<Request*> ours_;
  bool has_library_requests_ = false;
};

MPI_Status* status_at(MPI_Status* statuses, size_t i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

// Gives the slot to others between two looks at the library's requests; longer the longer it takes.
class Pause {
 public:
  explicit Pause(Runtime& runtime) : runtime_(runtime) {}
  void wait() {
    runtime_.scheduler.yield(pause_ns_);
    pause_ns_ = std::min(pause_ns_ * 2, kLongestPauseNs);
  }

 private:
  Runtime& runtime_;
  uint64_t pause_ns_ = kLeastPauseNs;
};

// A program that tests in a loop must not keep others from running, who may be the ones it waits for.
void after_failed_test(Runtime& runtime) { runtime.scheduler.yield(0); }

// Ends what can be ended, in order; returns how many.
int end_some(RequestArray& array, int* indices, MPI_Status* statuses, int& result) {
  int done = 0;
  for (size_t i = 0; i < array.count(); ++i) {
    if (array.is_idle(i)) continue;
    int error = MPI_SUCCESS;
    const MPI_Comm comm = array.communicator_of(i);
    if (!array.try_end(i, status_at(statuses, static_cast<size_t>(done)), true, error)) continue;
    if (error != MPI_SUCCESS) result = raise(comm, MPI_ERR_IN_STATUS);
    indices[done++] = static_cast<int>(i);
  }
  return done;
}

// Ends the first that can be ended; false if there is none.
bool end_any(RequestArray& array, int* index, MPI_Status* status, int& result) {
  for (size_t i = 0; i < array.count(); ++i) {
    if (array.is_idle(i)) continue;
    int error = MPI_SUCCESS;
    const MPI_Comm comm = array.communicator_of(i);
    if (!array.try_end(i, status, false, error)) continue;
    *index = static_cast<int>(i);
    result = error == MPI_SUCCESS ? MPI_SUCCESS : raise(comm, error);
    return true;
  }
  return false;
}

}  // namespace

int wait_all(Runtime& runtime, int count, MPI_Request* requests, MPI_Status* statuses) {
  RequestArray array(runtime, count, requests);
  runtime.block_until(
      node::RankState::blocked_receive, [&] { return array.all_ours_can_complete(); }, [&] { return array.missing(); },
      [&](char* text, size_t size) { array.describe_first_open(text, size); });
  int result = MPI_SUCCESS;
  Pause pause(runtime);
  for (size_t i = 0; i < array.count(); ++i) {
    int error = MPI_SUCCESS;
    const MPI_Comm comm = array.communicator_of(i);
    while (!array.try_end(i, status_at(statuses, i), true, error)) pause.wait();
    if (error != MPI_SUCCESS) result = count == 1 ? raise(comm, error) : raise(comm, MPI_ERR_IN_STATUS);
  }
  return result;
}

int wait_any(Runtime& runtime, int count, MPI_Request* requests, int* index, MPI_Status* status) {
  RequestArray array(runtime, count, requests);
  *index = MPI_UNDEFINED;
  if (array.all_idle()) {
    set_status(status, Outcome{});
    return MPI_SUCCESS;
  }
  int result = MPI_SUCCESS;
  if (!array.has_library_requests())
    runtime.block_until(
        node::RankState::blocked_receive, [&] { return array.any_of_ours_can_complete(); }, [] { return uint64_t{1}; },
        [&](char* text, size_t size) { array.describe_first_open(text, size); });
  Pause pause(runtime);
  while (!end_any(array, index, status, result)) pause.wait();
  return result;
}

int wait_some(Runtime& runtime, int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses) {
  RequestArray array(runtime, count, requests);
  *done_count = MPI_UNDEFINED;
  if (array.all_idle()) return MPI_SUCCESS;
  if (!array.has_library_requests())
    runtime.block_until(
        node::RankState::blocked_receive, [&] { return array.any_of_ours_can_complete(); }, [] { return uint64_t{1}; },
        [&](char* text, size_t size) { array.describe_first_open(text, size); });
  int result = MPI_SUCCESS;
  Pause pause(runtime);
  while ((*done_count = end_some(array, indices, statuses, result)) == 0) pause.wait();
  return result;
}

int test_all(Runtime& runtime, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  runtime.take_news();
  RequestArray array(runtime, count, requests);
  *flag = 0;
  if (!array.all_ours_can_complete()) {
    after_failed_test(runtime);
    return MPI_SUCCESS;
  }
  // The library tests its own requests all together or not at all, as the standard asks.
  std::vector<MPI_Request> library;
  for (size_t i = 0; array.has_library_requests() && i < array.count(); ++i)
    if (requests[i] != MPI_REQUEST_NULL && runtime.requests.find(requests[i]) == nullptr) library.push_back(requests[i]);
  for (MPI_Request request : library) {
    int done = 0;
    PMPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
    if (done != 0) continue;
    after_failed_test(runtime);
    return MPI_SUCCESS;
  }
  *flag = 1;
  return wait_all(runtime, count, requests, statuses);
}

int test_any(Runtime& runtime, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  runtime.take_news();
  RequestArray array(runtime, count, requests);
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (array.all_idle()) {
    set_status(status, Outcome{});
    return MPI_SUCCESS;
  }
  int result = MPI_SUCCESS;
  *flag = end_any(array, index, status, result) ? 1 : 0;
  if (*flag == 0) after_failed_test(runtime);
  return result;
}

int test_some(Runtime& runtime, int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses) {
  runtime.take_news();
  RequestArray array(runtime, count, requests);
  *done_count = MPI_UNDEFINED;
  if (array.all_idle()) return MPI_SUCCESS;
  int result = MPI_SUCCESS;
  *done_count = end_some(array, indices, statuses, result);
  if (*done_count == 0) after_failed_test(runtime);
  return result;
}

int look_at(Runtime& runtime, MPI_Request handle, int* flag, MPI_Status* status) {
  runtime.take_news();
  Request* request = handle == MPI_REQUEST_NULL ? nullptr : runtime.requests.find(handle);
  if (handle != MPI_REQUEST_NULL && request == nullptr) {
    const int code = PMPI_Request_get_status(handle, flag, status);
    if (*flag == 0) after_failed_test(runtime);
    return code;
  }
  *flag = request == nullptr || can_complete(runtime, *request) ? 1 : 0;
  if (*flag == 0) {
    after_failed_test(runtime);
  } else if (request == nullptr || !request->is_active) {
    set_status(status, Outcome{});
  } else {
    complete(runtime, *request);
    set_status(status, request->outcome);
  }
  return MPI_SUCCESS;
}

int free_request(Runtime& runtime, MPI_Request* handle) {
  Request* request = runtime.requests.find(*handle);
  if (request == nullptr) return PMPI_Request_free(handle);
  runtime.take_news();
  if (can_complete(runtime, *request)) {
    complete(runtime, *request);
    runtime.requests.remove(*request);
  } else {
    runtime.requests.orphan(*request);
  }
  *handle = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int start_persistent(Runtime& runtime, MPI_Request* handle) {
  Request* request = runtime.requests.find(*handle);
  if (request == nullptr) {
    auto& library = runtime.requests.library();
    const auto known = library.find(handle_value(*handle));
    if (known != library.end() && !known->second.is_active) {
      known->second.is_active = true;
      runtime.pin();
    }
    return PMPI_Start(handle);
  }
  if (!request->is_persistent || request->is_active) return raise(request->communicator->handle, MPI_ERR_REQUEST);
  start(runtime, *request);
  return MPI_SUCCESS;
}

}  // namespace spillway::mpi
