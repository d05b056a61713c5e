#include "mpi/completion.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "mpi/arguments.h"
#include "mpi/point_to_point.h"
#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

constexpr uint64_t kLeastPauseNs = 20000;
constexpr uint64_t kLongestPauseNs = 1000000;

// An operation of the library has ended; `is_gone` if its handle is no longer valid.
void note_library_end(Runtime& runtime, uint64_t key, bool is_gone) {
  auto& library = runtime.requests.library();
  const auto known = library.find(key);
  if (known == library.end()) return;
  LibraryRequest& request = known->second;
  if (request.is_active()) {
    --request.active_count;
    runtime.unpin();
  }
  std::vector<PromisedCommunicator> promised = std::exchange(request.promised, {});
  if (is_gone && !request.is_active()) library.erase(known);
  keep_promises(runtime, std::move(promised));  // may sleep: other threads use the table meanwhile
}

struct Failure {
  int error = MPI_SUCCESS;
  CommunicatorRef communicator;  // whose error handler is to be called; nullptr: the library has called it
};

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
    return ours_[i] != nullptr ? !ours_[i]->is_active : !runtime_.requests.is_active(requests_[i]);
  }

  bool ours_can_complete(size_t i) const { return ours_[i] != nullptr && can_complete(runtime_, *ours_[i]); }

  // Messages of ours that are still missing; what a wait for all needs at least.
  uint64_t missing() const {
    uint64_t missing = 0;
    for (const Request* request : ours_)
      if (request != nullptr && !can_complete(runtime_, *request))
        missing += request->operation != nullptr ? request->operation->missing() : 1;
    return std::max<uint64_t>(missing, 1);
  }

  bool all_ours_can_complete() const {
    return std::all_of(ours_.begin(), ours_.end(),
                       [&](const Request* r) { return r == nullptr || can_complete(runtime_, *r); });
  }

  // Of the library's requests too; ends none of them.
  bool all_can_complete() const {
    if (!all_ours_can_complete()) return false;
    for (size_t i = 0; has_library_requests_ && i < count(); ++i) {
      int flag = 1;
      if (ours_[i] == nullptr && requests_[i] != MPI_REQUEST_NULL)
        PMPI_Request_get_status(requests_[i], &flag, MPI_STATUS_IGNORE);
      if (flag == 0) return false;
    }
    return true;
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

  // Ends request i if it can be; fills the status, and `failure` if it has failed. Returns false if it is still open.
  bool try_end(size_t i, MPI_Status* status, bool with_error, Failure& failure) {
    if (requests_[i] == MPI_REQUEST_NULL) {
      set_status(status, Outcome{}, with_error);
      return true;
    }
    return ours_[i] != nullptr ? try_end_ours(i, status, with_error, failure)
                               : try_end_library(i, status, with_error, failure);
  }

 private:
  bool try_end_ours(size_t i, MPI_Status* status, bool with_error, Failure& failure) {
    Request& request = *ours_[i];
    if (!request.is_active) {
      set_status(status, Outcome{}, with_error);
      return true;
    }
    if (!can_complete(runtime_, request)) return false;
    complete(runtime_, request);
    set_status(status, request.outcome, with_error);
    if (request.outcome.error != MPI_SUCCESS) failure = Failure{request.outcome.error, request.communicator};
    request.is_active = false;
    if (request.is_persistent) return true;
    runtime_.requests.remove(request);
    ours_[i] = nullptr;
    requests_[i] = MPI_REQUEST_NULL;
    return true;
  }

  bool try_end_library(size_t i, MPI_Status* status, bool with_error, Failure& failure) {
    const uint64_t key = handle_value(requests_[i]);
    int flag = 0;
    failure.error = PMPI_Test(&requests_[i], &flag, status);
    if (flag == 0 && failure.error == MPI_SUCCESS) return false;
    if (with_error && status != MPI_STATUS_IGNORE) status->MPI_ERROR = failure.error;
    note_library_end(runtime_, key, requests_[i] == MPI_REQUEST_NULL);
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

// Gives the slot to others between two looks at the library's requests; longer the longer it takes. What has arrived
// meanwhile may complete others of the same array.
class Pause {
 public:
  explicit Pause(Runtime& runtime) : runtime_(runtime) {}
  void wait() {
    runtime_.scheduler.yield(pause_ns_);
    runtime_.take_news();
    pause_ns_ = std::min(pause_ns_ * 2, kLongestPauseNs);
  }

 private:
  Runtime& runtime_;
  uint64_t pause_ns_ = kLeastPauseNs;
};

int raise_if_ours(const Failure& failure) {
  return failure.communicator == nullptr ? failure.error : raise(failure.communicator, failure.error);
}

// Failures of several requests, which are told in their statuses; the first one's error handler is called.
class Failures {
 public:
  void add(const Failure& failure) {
    if (failure.error == MPI_SUCCESS) return;
    all_.error = MPI_ERR_IN_STATUS;
    if (all_.communicator == nullptr) all_.communicator = failure.communicator;
  }
  int raise() const { return raise_if_ours(all_); }

 private:
  Failure all_;
};

void wait_for_all_of_ours(Runtime& runtime, const RequestArray& array) {
  runtime.block_until(
      node::RankState::blocked_receive, [&] { return array.all_ours_can_complete(); }, [&] { return array.missing(); },
      [&](char* text, size_t size) { array.describe_first_open(text, size); });
}

// Ends what can be ended, in order; returns how many.
int end_some(RequestArray& array, int* indices, MPI_Status* statuses, int& result) {
  int done = 0;
  Failures failures;
  for (size_t i = 0; i < array.count(); ++i) {
    if (array.is_idle(i)) continue;
    Failure failure;
    if (!array.try_end(i, status_at(statuses, static_cast<size_t>(done)), true, failure)) continue;
    failures.add(failure);
    indices[done++] = static_cast<int>(i);
  }
  result = failures.raise();
  return done;
}

// Ends the first that can be ended; false if there is none.
bool end_any(RequestArray& array, int* index, MPI_Status* status, int& result) {
  for (size_t i = 0; i < array.count(); ++i) {
    if (array.is_idle(i)) continue;
    Failure failure;
    if (!array.try_end(i, status, false, failure)) continue;
    *index = static_cast<int>(i);
    result = raise_if_ours(failure);
    return true;
  }
  return false;
}

}  // namespace

int wait_one(Runtime& runtime, MPI_Request* request, MPI_Status* status) {
  RequestArray array(runtime, 1, request);
  wait_for_all_of_ours(runtime, array);
  Failure failure;
  Pause pause(runtime);
  while (!array.try_end(0, status, false, failure)) pause.wait();
  return raise_if_ours(failure);
}

int wait_all(Runtime& runtime, int count, MPI_Request* requests, MPI_Status* statuses) {
  RequestArray array(runtime, count, requests);
  wait_for_all_of_ours(runtime, array);
  Failures failures;
  Pause pause(runtime);
  for (size_t i = 0; i < array.count(); ++i) {
    Failure failure;
    while (!array.try_end(i, status_at(statuses, i), true, failure)) pause.wait();
    failures.add(failure);
  }
  return failures.raise();
}

int wait_any(Runtime& runtime, int count, MPI_Request* requests, int* index, MPI_Status* status) {
  RequestArray array(runtime, count, requests);
  *index = MPI_UNDEFINED;
  if (array.all_idle()) {
    set_status(status, Outcome{}, true);
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

int test_one(Runtime& runtime, MPI_Request* request, int* flag, MPI_Status* status) {
  runtime.take_news();
  RequestArray array(runtime, 1, request);
  Failure failure;
  *flag = array.try_end(0, status, false, failure) ? 1 : 0;
  if (*flag == 0) runtime.after_failed_test();
  return raise_if_ours(failure);
}

int test_all(Runtime& runtime, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  runtime.take_news();
  RequestArray array(runtime, count, requests);
  *flag = array.all_can_complete() ? 1 : 0;
  if (*flag != 0) return wait_all(runtime, count, requests, statuses);
  runtime.after_failed_test();
  return MPI_SUCCESS;
}

int test_any(Runtime& runtime, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  runtime.take_news();
  RequestArray array(runtime, count, requests);
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (array.all_idle()) {
    set_status(status, Outcome{}, true);
    return MPI_SUCCESS;
  }
  int result = MPI_SUCCESS;
  *flag = end_any(array, index, status, result) ? 1 : 0;
  if (*flag == 0) runtime.after_failed_test();
  return result;
}

int test_some(Runtime& runtime, int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses) {
  runtime.take_news();
  RequestArray array(runtime, count, requests);
  *done_count = MPI_UNDEFINED;
  if (array.all_idle()) return MPI_SUCCESS;
  int result = MPI_SUCCESS;
  *done_count = end_some(array, indices, statuses, result);
  if (*done_count == 0) runtime.after_failed_test();
  return result;
}

int free_request(Runtime& runtime, MPI_Request* handle) {
  Request* request = runtime.requests.find(*handle);
  if (request == nullptr) {
    const uint64_t key = handle_value(*handle);
    const int code = PMPI_Request_free(handle);
    if (code == MPI_SUCCESS) note_library_end(runtime, key, true);
    return code;
  }
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
    if (known != library.end() && !known->second.is_active()) {
      known->second.active_count = 1;
      runtime.pin();
    }
    return PMPI_Start(handle);
  }
  if (!request->is_persistent || request->is_active) return raise(request->communicator, MPI_ERR_REQUEST);
  start(runtime, *request);
  return MPI_SUCCESS;
}

}  // namespace spillway::mpi
