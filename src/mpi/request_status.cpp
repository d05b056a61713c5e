#include "mpi/request_status.h"

#include <algorithm>
#include <utility>

#include "mpi/point_to_point.h"
#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

struct Look {
  bool is_complete = true;
  int code = MPI_SUCCESS;
};

Look look_at_library_request(Runtime& runtime, MPI_Request handle, MPI_Status* status) {
  int flag = 0;
  const int code = PMPI_Request_get_status(handle, &flag, status);
  const auto known = runtime.requests.library().find(handle_value(handle));
  if (flag != 0 && known != runtime.requests.library().end())
    keep_promises(runtime, std::exchange(known->second.promised, {}));
  return Look{flag != 0, code};
}

// News must have been taken.
Look look(Runtime& runtime, MPI_Request handle, MPI_Status* status) {
  Request* request = handle == MPI_REQUEST_NULL ? nullptr : runtime.requests.find(handle);
  if (handle != MPI_REQUEST_NULL && request == nullptr) return look_at_library_request(runtime, handle, status);
  if (request == nullptr || !request->is_active) {
    set_status(status, Outcome{}, true);
    return Look{};
  }
  if (!can_complete(runtime, *request)) return Look{false, MPI_SUCCESS};
  complete(runtime, *request);
  set_status(status, request->outcome);
  return Look{};
}

MPI_Status* status_at(MPI_Status* statuses, int i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

bool any_is_active(Runtime& runtime, int count, const MPI_Request* requests) {
  return std::any_of(requests, requests + count,
                     [&](MPI_Request request) { return runtime.requests.is_active(request); });
}

}  // namespace

int look_at(Runtime& runtime, MPI_Request request, int* flag, MPI_Status* status) {
  return look_at_all(runtime, 1, &request, flag, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
}

int look_at_all(Runtime& runtime, int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  runtime.take_news();
  *flag = 1;
  int result = MPI_SUCCESS;
  for (int i = 0; i < count && *flag != 0; ++i) {
    const Look seen = look(runtime, requests[i], status_at(statuses, i));
    if (seen.code != MPI_SUCCESS) result = seen.code;
    if (!seen.is_complete) *flag = 0;
  }
  if (*flag == 0) runtime.after_failed_test();
  return result;
}

int look_at_any(Runtime& runtime, int count, const MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  runtime.take_news();
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (!any_is_active(runtime, count, requests)) {
    set_status(status, Outcome{}, true);
    return MPI_SUCCESS;
  }
  for (int i = 0; i < count; ++i) {
    if (!runtime.requests.is_active(requests[i])) continue;
    const Look seen = look(runtime, requests[i], status);
    if (!seen.is_complete) continue;
    *index = i;
    return seen.code;
  }
  *flag = 0;
  runtime.after_failed_test();
  return MPI_SUCCESS;
}

int look_at_some(Runtime& runtime, int count, const MPI_Request* requests, int* done_count, int* indices,
                 MPI_Status* statuses) {
  runtime.take_news();
  *done_count = MPI_UNDEFINED;
  if (!any_is_active(runtime, count, requests)) return MPI_SUCCESS;
  *done_count = 0;
  int result = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    if (!runtime.requests.is_active(requests[i])) continue;
    const Look seen = look(runtime, requests[i], status_at(statuses, *done_count));
    if (seen.code != MPI_SUCCESS) result = seen.code;
    if (seen.is_complete) indices[(*done_count)++] = i;
  }
  if (*done_count == 0) runtime.after_failed_test();
  return result;
}

}  // namespace spillway::mpi
