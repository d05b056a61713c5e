// Entry points that begin and end a rank's part in the job, and those that end a communicator.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "interpose/entry.h"
#include "mpi/ending_communicator.h"
#include "node/attach_protocol.h"

using namespace spillway::interpose;
namespace mpi = spillway::mpi;

namespace {

// While the MPI library starts. Its helper threads inherit what is blocked here: no handler of the program runs on
// them, where it could write to memory that the rank unloads (the rank's own thread blocks all signals for that). The
// signals by which a job is ended stay free, and are as before when libraries have begun to catch them: libfabric does,
// for its files, and 1.11 takes the first one and does not end.
class SignalsOfProgram {
 public:
  SignalsOfProgram() {
    for (size_t i = 0; i < kCount; ++i) sigaction(kEnding[i], nullptr, &before_[i]);
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int number : {SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2, SIGIO, SIGURG, SIGWINCH})
      sigaddset(&blocked, number);
    for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) sigaddset(&blocked, number);
    pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
  }
  ~SignalsOfProgram() {
    for (size_t i = 0; i < kCount; ++i) sigaction(kEnding[i], &before_[i], nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  SignalsOfProgram(const SignalsOfProgram&) = delete;
  SignalsOfProgram& operator=(const SignalsOfProgram&) = delete;

 private:
  static constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};
  static constexpr size_t kCount = sizeof kEnding / sizeof *kEnding;
  struct sigaction before_[kCount];
  sigset_t mask_before_;
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

int start(int* argc, char*** argv, int required, int* provided) {
  UnmanagedScope scope;
  const SignalsOfProgram signals;
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) mpi::start_runtime(arena());
  return code;
}

// Programs that have no part in MPI but sessions (MPI 4.0) never call MPI_Init: their ranks join the job at the first
// session, and leave it when the process ends.
class WorldOfSessions {
 public:
  // Any thread of the program may begin a session, so the world has to bear them all.
  void begin() {
    const std::lock_guard lock(mutex_);
    int is_initialized = 0;
    if (is_begun_ || UnmanagedScope::is_inside() || getenv(spillway::node::kSocketVariable) == nullptr ||
        PMPI_Initialized(&is_initialized) != MPI_SUCCESS || is_initialized != 0)
      return;
    int provided = MPI_THREAD_SINGLE;
    if (start(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS) return;
    is_begun_ = true;
    atexit(end);
  }
  // The program calls MPI_Init after all. True if that has been done for it: it is the one to call MPI_Finalize now.
  bool hand_over() {
    const std::lock_guard lock(mutex_);
    return is_begun_ && !std::exchange(is_programs_, true);
  }
  void count_sessions(int change) {
    const std::lock_guard lock(mutex_);
    open_sessions_ += change;
  }

 private:
  static void end();

  std::mutex mutex_;
  bool is_begun_ = false;
  bool is_programs_ = false;
  int open_sessions_ = 0;
};

constinit WorldOfSessions world_of_sessions;

// A process that ends with an open session has not left MPI, and the agent says so.
void WorldOfSessions::end() {
  if (world_of_sessions.is_programs_ || world_of_sessions.open_sessions_ != 0) return;
  if (mpi::active_runtime() != nullptr) MPI_Finalize();
}

}  // namespace

SPILLWAY_ENTRY int MPI_Init(int* argc, char*** argv) {
  if (world_of_sessions.hand_over()) return MPI_SUCCESS;
  UnmanagedScope scope;
  const SignalsOfProgram signals;
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) mpi::start_runtime(arena());
  return code;
}

SPILLWAY_ENTRY int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return world_of_sessions.hand_over() ? PMPI_Query_thread(provided) : start(argc, argv, required, provided);
}

#ifdef PMPI_Session_init
SPILLWAY_ENTRY int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  world_of_sessions.begin();
  DelegatedBlocking call("MPI_Session_init");
  const int code = PMPI_Session_init(info, errhandler, session);
  if (code == MPI_SUCCESS) world_of_sessions.count_sessions(1);
  return code;
}

SPILLWAY_ENTRY int MPI_Session_finalize(MPI_Session* session) {
  DelegatedBlocking call("MPI_Session_finalize");
  const int code = PMPI_Session_finalize(session);
  if (code == MPI_SUCCESS) world_of_sessions.count_sessions(-1);
  return code;
}
#endif

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
