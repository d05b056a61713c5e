// Entry points of the wait and test families, cancel and request queries (MPI 4.1, 3.7, 3.8.4); and of a call that the
// library carries out but programs wait with.
#include "interpose/entry.h"
#include "mpi/completion.h"
#include "mpi/point_to_point.h"
#include "mpi/request_status.h"

using namespace spillway::interpose;
namespace mpi = spillway::mpi;

SPILLWAY_ENTRY int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  return dispatch([&](Runtime& runtime) { return mpi::wait_one(runtime, request, status); },
                  [&] { return PMPI_Wait(request, status); });
}

SPILLWAY_ENTRY int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  return dispatch([&](Runtime& runtime) { return mpi::wait_all(runtime, count, requests, statuses); },
                  [&] { return PMPI_Waitall(count, requests, statuses); });
}

SPILLWAY_ENTRY int MPI_Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  return dispatch([&](Runtime& runtime) { return mpi::wait_any(runtime, count, requests, index, status); },
                  [&] { return PMPI_Waitany(count, requests, index, status); });
}

SPILLWAY_ENTRY int MPI_Waitsome(int count, MPI_Request requests[], int* done_count, int indices[],
                                MPI_Status statuses[]) {
  return dispatch(
      [&](Runtime& runtime) { return mpi::wait_some(runtime, count, requests, done_count, indices, statuses); },
      [&] { return PMPI_Waitsome(count, requests, done_count, indices, statuses); });
}

SPILLWAY_ENTRY int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return dispatch([&](Runtime& runtime) { return mpi::test_one(runtime, request, flag, status); },
                  [&] { return PMPI_Test(request, flag, status); });
}

SPILLWAY_ENTRY int MPI_Testall(int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  return dispatch([&](Runtime& runtime) { return mpi::test_all(runtime, count, requests, flag, statuses); },
                  [&] { return PMPI_Testall(count, requests, flag, statuses); });
}

SPILLWAY_ENTRY int MPI_Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  return dispatch([&](Runtime& runtime) { return mpi::test_any(runtime, count, requests, index, flag, status); },
                  [&] { return PMPI_Testany(count, requests, index, flag, status); });
}

SPILLWAY_ENTRY int MPI_Testsome(int count, MPI_Request requests[], int* done_count, int indices[],
                                MPI_Status statuses[]) {
  return dispatch(
      [&](Runtime& runtime) { return mpi::test_some(runtime, count, requests, done_count, indices, statuses); },
      [&] { return PMPI_Testsome(count, requests, done_count, indices, statuses); });
}

SPILLWAY_ENTRY int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  return dispatch([&](Runtime& runtime) { return mpi::look_at(runtime, request, flag, status); },
                  [&] { return PMPI_Request_get_status(request, flag, status); });
}

#ifdef PMPI_Request_get_status_all
SPILLWAY_ENTRY int MPI_Request_get_status_all(int count, const MPI_Request requests[], int* flag,
                                              MPI_Status statuses[]) {
  return dispatch([&](Runtime& runtime) { return mpi::look_at_all(runtime, count, requests, flag, statuses); },
                  [&] { return PMPI_Request_get_status_all(count, requests, flag, statuses); });
}

SPILLWAY_ENTRY int MPI_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag,
                                              MPI_Status* status) {
  return dispatch([&](Runtime& runtime) { return mpi::look_at_any(runtime, count, requests, index, flag, status); },
                  [&] { return PMPI_Request_get_status_any(count, requests, index, flag, status); });
}

SPILLWAY_ENTRY int MPI_Request_get_status_some(int count, const MPI_Request requests[], int* done_count, int indices[],
                                               MPI_Status statuses[]) {
  return dispatch(
      [&](Runtime& runtime) { return mpi::look_at_some(runtime, count, requests, done_count, indices, statuses); },
      [&] { return PMPI_Request_get_status_some(count, requests, done_count, indices, statuses); });
}
#endif

SPILLWAY_ENTRY int MPI_Request_free(MPI_Request* request) {
  return dispatch([&](Runtime& runtime) { return mpi::free_request(runtime, request); },
                  [&] { return PMPI_Request_free(request); });
}

SPILLWAY_ENTRY int MPI_Cancel(MPI_Request* request) {
  return dispatch(
      [&](Runtime& runtime) {
        mpi::Request* known = runtime.requests.find(*request);
        if (known == nullptr) return PMPI_Cancel(request);
        mpi::cancel(runtime, *known);
        return MPI_SUCCESS;
      },
      [&] { return PMPI_Cancel(request); });
}

// Programs that share a window's memory look for a change of it in a loop, with this call between two looks.
SPILLWAY_ENTRY int MPI_Win_sync(MPI_Win win) {
  return dispatch(
      [&](Runtime& runtime) {
        const int code = PMPI_Win_sync(win);
        runtime.after_failed_test();
        return code;
      },
      [&] { return PMPI_Win_sync(win); });
}
