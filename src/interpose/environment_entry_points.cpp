// Entry points that begin and end a rank's part in the job, and those that end a communicator.
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "interpose/entry.h"
#include "interpose/fork.h"
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
          runtime.self.world_rank());
}

// A rank that has called MPI_Finalize goes on computing in its slot; when the process ends, the slot is free.
__attribute__((destructor)) void leave_job() {
  mpi::Runtime* runtime = mpi::runtime();
  if (runtime != nullptr && runtime->is_finalized() && runtime->self.record().pid == getpid()) runtime->retire();
}

// What a session may ask for by its info; else any thread of the program may use it.
int thread_level_of(MPI_Info info) {
  char text[64] = "";
  int is_given = 0;
  if (info == MPI_INFO_NULL || PMPI_Info_get(info, "thread_level", sizeof text - 1, text, &is_given) != MPI_SUCCESS ||
      is_given == 0)
    return MPI_THREAD_MULTIPLE;
  if (strcmp(text, "MPI_THREAD_SINGLE") == 0) return MPI_THREAD_SINGLE;
  if (strcmp(text, "MPI_THREAD_FUNNELED") == 0) return MPI_THREAD_FUNNELED;
  return strcmp(text, "MPI_THREAD_SERIALIZED") == 0 ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE;
}

// Begins the rank's part in the job, once, whoever asks for it; and ends it when nobody needs it any more.
//
// Programs that have no part in MPI but sessions (MPI 4.0) never call MPI_Init: their ranks join the job at the first
// session, and leave it when the process ends. Where a program has both, the part lasts as long as either.
class World {
 public:
  // For a program that calls MPI_Init itself: initialise() is the library's form of the call, already_begun() is called
  // instead where a session has come before.
  template <typename Initialise, typename AlreadyBegun>
  int begin_for_program(Initialise initialise, AlreadyBegun already_begun) {
    const std::lock_guard lock(mutex_);
    const Owner before = std::exchange(owner_, Owner::program);
    return before == Owner::sessions ? already_begun() : begin(initialise);
  }

  void begin_for_session(MPI_Info info) {
    const std::lock_guard lock(mutex_);
    int is_initialized = 0;
    if (owner_ != Owner::nobody || getenv(spillway::node::kSocketVariable) == nullptr ||
        PMPI_Initialized(&is_initialized) != MPI_SUCCESS || is_initialized != 0)
      return;
    int provided = MPI_THREAD_SINGLE;
    if (begin([&] { return PMPI_Init_thread(nullptr, nullptr, thread_level_of(info), &provided); }) != MPI_SUCCESS)
      return;
    owner_ = Owner::sessions;
    on_exit(process_ends, nullptr);
  }

  void session_begins() {
    const std::lock_guard lock(mutex_);
    ++open_sessions_;
  }
  // Returns whether MPI_Finalize is to be carried out now.
  bool session_ends() {
    const std::lock_guard lock(mutex_);
    return --open_sessions_ == 0 && std::exchange(is_end_owed_, false);
  }
  // The program calls MPI_Finalize. Returns whether it is to be carried out now: not while a session is open.
  bool program_ends() {
    const std::lock_guard lock(mutex_);
    is_end_owed_ = open_sessions_ > 0 && mpi::active_runtime() != nullptr;
    return !is_end_owed_;
  }

 private:
  enum class Owner { nobody, program, sessions };

  template <typename Initialise>
  int begin(Initialise initialise) {
    UnmanagedScope scope;
    const SignalsOfProgram signals;
    take_care_of_forks();
    const int code = initialise();
    if (code == MPI_SUCCESS) mpi::start_runtime(arena(), small_heap());
    return code;
  }

  static void process_ends(int status, void*);

  std::mutex mutex_;
  Owner owner_ = Owner::nobody;  // who has to end it
  bool is_end_owed_ = false;     // by the last session
  int open_sessions_ = 0;
};

constinit World world;

// Handlers that the program has registered earlier run later, and may be what ends the last session. A rank that fails
// does not wait for the others, nor does one that the library ends in the middle of a call.
void World::process_ends(int status, void*) {
  mpi::Runtime* runtime = mpi::active_runtime();
  if (runtime == nullptr || runtime->self.record().pid != getpid()) return;
  if (status != 0 || UnmanagedScope::is_inside() || world.owner_ != Owner::sessions) return;
  if (world.program_ends()) MPI_Finalize();
}

int finalize() {
  if (mpi::active_runtime() != nullptr) leave_critical_section(*mpi::active_runtime());
  DelegatedCollective call("MPI_Finalize", MPI_COMM_WORLD);
  mpi::Runtime* runtime = mpi::active_runtime();
  if (runtime != nullptr) runtime->finalize();
  const int status = PMPI_Finalize();
  if (runtime != nullptr) runtime->leave_finalize();
  return status;
}

}  // namespace

SPILLWAY_ENTRY int MPI_Init(int* argc, char*** argv) {
  const auto library = [&] { return PMPI_Init(argc, argv); };
  if (UnmanagedScope::is_inside()) return library();
  return world.begin_for_program(library, [] { return MPI_SUCCESS; });
}

SPILLWAY_ENTRY int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const auto library = [&] { return PMPI_Init_thread(argc, argv, required, provided); };
  if (UnmanagedScope::is_inside()) return library();
  return world.begin_for_program(library, [&] { return PMPI_Query_thread(provided); });
}

SPILLWAY_ENTRY int MPI_Finalize(void) {
  if (UnmanagedScope::is_inside()) return PMPI_Finalize();
  return world.program_ends() ? finalize() : MPI_SUCCESS;
}

#ifdef PMPI_Session_init
SPILLWAY_ENTRY int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  const auto library = [&] { return PMPI_Session_init(info, errhandler, session); };
  if (UnmanagedScope::is_inside()) return library();
  world.begin_for_session(info);
  DelegatedBlocking call("MPI_Session_init");
  const int code = library();
  if (code == MPI_SUCCESS) world.session_begins();
  return code;
}

SPILLWAY_ENTRY int MPI_Session_finalize(MPI_Session* session) {
  const auto library = [&] {
    DelegatedBlocking call("MPI_Session_finalize");
    return PMPI_Session_finalize(session);
  };
  const bool is_inside = UnmanagedScope::is_inside();
  const int code = library();
  if (code == MPI_SUCCESS && !is_inside && world.session_ends()) finalize();
  return code;
}
#endif

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
