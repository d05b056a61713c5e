// Entry points that begin and end a rank's part in the job, and those that end a communicator.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

#include "interpose/entry.h"
#include "mpi/ending_communicator.h"

using namespace spillway::interpose;
namespace mpi = spillway::mpi;

namespace {

// While one of these exists, libraries may catch the signals by which a job is ended; then all is as before. Below
// MPI_Init libfabric does, for its files: 1.11 takes the first signal and does not end.
class EndingSignals {
 public:
  EndingSignals() {
    for (size_t i = 0; i < kCount; ++i) sigaction(kNumbers[i], nullptr, &before_[i]);
  }
  ~EndingSignals() {
    for (size_t i = 0; i < kCount; ++i) sigaction(kNumbers[i], &before_[i], nullptr);
  }
  EndingSignals(const EndingSignals&) = delete;
  EndingSignals& operator=(const EndingSignals&) = delete;

 private:
  static constexpr int kNumbers[] = {SIGINT, SIGTERM, SIGHUP};
  static constexpr size_t kCount = sizeof kNumbers / sizeof *kNumbers;
  struct sigaction before_[kCount];
};

// Others would wait for the section while this rank waits for them in MPI_Finalize.
void leave_critical_section(mpi::Runtime& runtime) {
  if (runtime.critical_section.exit() != spillway::node::CriticalResult::done) return;
  fprintf(stderr, "spillway: rank %u has called MPI_Finalize inside the critical section, which is free again\n",
          runtime.self.index());
}

// A rank that has called MPI_Finalize goes on computing in its slot; when the process ends, the slot is free.
__attribute__((destructor)) void leave_job() {
  mpi::Runtime* runtime = mpi::runtime();
  if (runtime != nullptr && runtime->is_finalized() && runtime->self.record().pid == getpid()) runtime->retire();
}

}  // namespace

SPILLWAY_ENTRY int MPI_Init(int* argc, char*** argv) {
  UnmanagedScope scope;
  EndingSignals signals;
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) mpi::start_runtime(arena());
  return code;
}

SPILLWAY_ENTRY int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  UnmanagedScope scope;
  EndingSignals signals;
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) mpi::start_runtime(arena());
  return code;
}

SPILLWAY_ENTRY int MPI_Finalize(void) {
  if (mpi::active_runtime() != nullptr) leave_critical_section(*mpi::active_runtime());
  DelegatedCollective call("MPI_Finalize", MPI_COMM_WORLD);
  if (mpi::active_runtime() != nullptr) mpi::active_runtime()->finalize();
  return PMPI_Finalize();
}

// The agent ends all ranks, whatever the communicator, as MPI libraries do. Exit statuses have eight bits; an abort is
// never a success.
SPILLWAY_ENTRY int MPI_Abort(MPI_Comm comm, int error_code) {
  if (mpi::Runtime* runtime = mpi::active_runtime(); runtime != nullptr) {
    char text[64];
    snprintf(text, sizeof text, "called MPI_Abort with error code %d", error_code);
    runtime->report_fatal(text, (error_code & 0xff) != 0 ? error_code : 1);
  }
  return PMPI_Abort(comm, error_code);
}

// Libraries free a communicator without waiting for its other members, and programs do so in any order.
SPILLWAY_ENTRY int MPI_Comm_free(MPI_Comm* comm) {
  const MPI_Comm handle = comm != nullptr ? *comm : MPI_COMM_NULL;
  DelegatedBlocking call("MPI_Comm_free");
  mpi::EndingCommunicator ending(mpi::active_runtime(), handle);
  const int code = PMPI_Comm_free(comm);
  if (code == MPI_SUCCESS) ending.ended();
  return code;
}

SPILLWAY_ENTRY int MPI_Comm_disconnect(MPI_Comm* comm) {
  const MPI_Comm handle = comm != nullptr ? *comm : MPI_COMM_NULL;
  DelegatedCollective call("MPI_Comm_disconnect", handle);
  mpi::EndingCommunicator ending(mpi::active_runtime(), handle);
  const int code = PMPI_Comm_disconnect(comm);
  if (code == MPI_SUCCESS) ending.ended();
  return code;
}
