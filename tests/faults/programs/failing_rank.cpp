// failing_rank <how> [rank [MiB]]: an MPI program in which one rank (default: the last) fails as told, while all others
// wait for a message from it, for ever. With MiB, every rank writes so much memory again and again meanwhile.
// failing_rank slow_messages [file]: none fails, after some seconds.
#include <mpi.h>
#include <signal.h>
#include <spillway/spillway.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

volatile sig_atomic_t has_signal_come = 0;

void say(const char* text, int rank) {
  printf("rank %d: %s\n", rank, text);
  fflush(stdout);
  fprintf(stderr, "rank %d: %s, on standard error\n", rank, text);
}

void wait_for_ever() {
  while (true) pause();
}

void write_where_nothing_is() {
  *static_cast<volatile int*>(mmap(nullptr, sizeof(int), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) = 1;
}

// A child that would outlive the job, if nobody looked for it.
void leave_child() {
  if (fork() != 0) return;
  setsid();
  wait_for_ever();
}

void fail(const std::string& how) {
  if (how == "sigkill") kill(getpid(), SIGKILL);
  if (how == "sigsegv") write_where_nothing_is();
  if (how == "abort") abort();
  if (how == "exit_quietly") exit(0);
  if (how == "exit_with_status") exit(3);
  if (how == "mpi_abort") MPI_Abort(MPI_COMM_WORLD, 7);
  if (how == "leave_child") {
    leave_child();
    exit(4);
  }
  if (how == "kill_parent") kill(getppid(), SIGKILL);
  if (how == "wait" || how == "wait_in_finalize" || how == "ignore") wait_for_ever();
  while (how == "chatter") puts("and so on and so on");
}

// The attributes of MPI_COMM_SELF are deleted inside MPI_Finalize.
void die_in_finalize() {
  int key = 0;
  const auto die = [](MPI_Comm, int, void*, void*) { return kill(getpid(), SIGKILL); };
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, die, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
}

int finish(const std::string& how, bool is_failing) {
  if (how == "die_in_finalize" && is_failing) die_in_finalize();
  MPI_Finalize();
  if (!is_failing) {
    usleep(300000);  // the failing rank ends first
    printf("this rank went on\n");
    return 0;
  }
  if (how == "crash_after_finalize") write_where_nothing_is();
  return 5;
}

void wait_for_signal(int number, int rank) {
  struct sigaction action {};
  action.sa_handler = [](int) { has_signal_come = 1; };
  sigaction(number, &action, nullptr);
  say(number == SIGTERM ? "waits for SIGTERM" : "waits for SIGUSR1", rank);
  while (has_signal_come == 0) usleep(10000);
}

// Ends well only when SIGTERM reaches it.
int write_checkpoint(int rank) {
  wait_for_signal(SIGTERM, rank);
  say("wrote its checkpoint", rank);
  _exit(0);
}

// Goes on until any rank has got SIGTERM, and needs the others for its checkpoint.
int write_agreed_checkpoint(int rank) {
  struct sigaction action {};
  action.sa_handler = [](int) { has_signal_come = 1; };
  sigaction(SIGTERM, &action, nullptr);
  say("waits for SIGTERM", rank);
  for (int is_told = 0, is_any_told = 0; is_any_told == 0; is_told = has_signal_come) {
    usleep(1000);
    MPI_Allreduce(&is_told, &is_any_told, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  say("wrote its checkpoint", rank);
  return MPI_Finalize();
}

// The failing rank dies of SIGTERM, with the only slot in its hand; what the others wait for has come, and they ignore
// the signal.
int outlive(int rank, int size, int failing) {
  if (rank != failing) {
    signal(SIGTERM, SIG_IGN);
    say("waits for SIGTERM", rank);
    MPI_Send(nullptr, 0, MPI_BYTE, failing, 6, MPI_COMM_WORLD);
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, failing, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("wrote its checkpoint", rank);
    _exit(0);
  }
  // Not asleep outside of MPI meanwhile: its slot would be lent.
  for (int other = 1; other < size; ++other)
    MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int other = 0; other < size; ++other)
    if (other != rank) MPI_Send(&other, 1, MPI_INT, other, 7, MPI_COMM_WORLD);
  say("waits for SIGTERM", rank);
  for (std::atomic<unsigned> spin = 0;;) ++spin;
}

int count_user_signal(int rank) {
  wait_for_signal(SIGUSR1, rank);
  say("got SIGUSR1", rank);
  return MPI_Finalize();
}

// Between two messages nothing happens for longer than the deadlock watch waits; the first one is not sent before the
// file is there, if one is named.
int pass_slow_messages(int rank, int size, const char* file) {
  if (rank == 0) say("passes messages", rank);
  int value = rank;
  if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  usleep(1500000);
  while (rank == 0 && file != nullptr && access(file, F_OK) != 0) usleep(10000);
  if (rank + 1 < size) MPI_Send(&value, 1, MPI_INT, rank + 1, 7, MPI_COMM_WORLD);
  return MPI_Finalize();
}

int receive_in_circle(int rank, int size) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}

// Rank 1 waits for a message in its place.
int sum_without_one(int rank, bool is_blocking) {
  int value = rank, sum = 0;
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (is_blocking) return MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// A long one, from rank 0.
int broadcast(size_t bytes, int rank) {
  std::vector<char> data(bytes, static_cast<char>(rank));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) say("broadcasts", rank);
  MPI_Bcast(data.data(), static_cast<int>(bytes), MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  say("has got past the barrier", rank);
  return MPI_Finalize();
}

int write_memory_for_ever(size_t bytes, int rank, int failing, const std::string& how) {
  constexpr int kRoundOfFailure = 4;
  std::vector<char> memory(bytes);
  for (int round = 0;; ++round) {
    memset(memory.data(), round, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (memory[bytes / 2] != static_cast<char>(round)) MPI_Abort(MPI_COMM_WORLD, 99);
    if (round != kRoundOfFailure || rank != failing) continue;
    say("last words", rank);
    fail(how);
  }
}

// What it has written is on storage in MPI_Finalize; it reads that afterwards, and does not free it.
int read_after_finalize(size_t bytes, int rank) {
  auto* memory = static_cast<char*>(malloc(bytes));
  memset(memory, 1, bytes);
  if (spillway_unload(memory, bytes) != SPILLWAY_SUCCESS) return 6;
  MPI_Finalize();
  wait_for_signal(SIGUSR1, rank);
  return std::count(memory, memory + bytes, 1) == 0 ? 6 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  const int failing = argc > 2 ? atoi(argv[2]) : size - 1;
  if (how == "deadlock") return receive_in_circle(rank, size);
  if (how == "sum" || how == "begun_sum") return sum_without_one(rank, how == "sum");
  if (how == "slow_messages") return pass_slow_messages(rank, size, argv[2]);
  if (how == "checkpoint") return write_checkpoint(rank);
  if (how == "agreed_checkpoint") return write_agreed_checkpoint(rank);
  if (how == "outlive") return outlive(rank, size, failing);
  if (how == "count_usr1") return count_user_signal(rank);
  if (how == "ignore") signal(SIGTERM, SIG_IGN);
  if (how == "status_after_finalize" || how == "crash_after_finalize" || how == "die_in_finalize")
    return finish(how, rank == failing);
  if (how == "broadcast") return broadcast(static_cast<size_t>(atoi(argv[3])) << 20, rank);
  if (how == "read_after_finalize") return read_after_finalize(static_cast<size_t>(atoi(argv[3])) << 20, rank);
  if (how == "wait_in_finalize" && rank != failing) return MPI_Finalize();
  if (argc > 3) return write_memory_for_ever(static_cast<size_t>(atoi(argv[3])) << 20, rank, failing, how);
  if (rank == failing) {
    say("last words", rank);
    fail(how);
  }
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, failing, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
