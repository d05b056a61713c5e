// An MPI program of the shape that Spillway is made for: phases of computation on much memory, with a little
// communication between.
//
//   phases sweep MIB ROUNDS       every rank reads all its MIB and writes half of it, in each round
//   phases read MIB ROUNDS        fills its MIB once, then only reads
//   phases exchange MIB ROUNDS    an all-to-all of MIB per rank in each round
//   phases overlap MIB ROUNDS     the same nonblocking, while the rank computes on other data, as large
//   phases pile MIB OWN_MIB       every rank leaves a message of MIB to the next one, fills OWN_MIB, then receives
//   phases usage MIB              rank 0 prints what Spillway says of its memory
//   phases fork MIB               every rank forks a child that forks again; both look at the rank's memory
//   phases handler MIB ROUNDS     a signal handler counts in the memory of every rank, a thousand times per second
//   phases threads MIB ROUNDS     a second thread of every rank calls MPI and ends; then as `sweep`
//   phases pool MIB ROUNDS        the same, but the thread sleeps on a condition variable to the end instead of ending
//   phases traced MIB ROUNDS      the same, and another process traces the thread, as a debugger does
//   phases receivers MIB ROUNDS   three other threads of every rank wait for messages to the end; as `sweep` beside
//   them phases compute MIB ROUNDS     a second thread of every rank, which never calls MPI, writes to all its MIB all
//   the
//                                 time, and to a file; as `sweep` beside it
//   phases receive MIB ROUNDS     each round, every rank changes MIB of its own and gets MIB anew: by a broadcast, from
//                                 the rank before, and as a sum
//   phases reduce MIB ROUNDS      rank 0 prints how many words of a sum differ that is made in place and not
//   phases broadcast MIB ROUNDS   in each round, all get MIB from rank 0
//   phases window MIB ROUNDS      as `sweep`, and in each round a part of it goes to the next rank's window
//   phases mappings MIB           rank 0 allocates MIB in pieces while it has all mappings that the kernel allows
//   phases idle PIPE              all ranks but 0 wait for a message that rank 0 sends when somebody writes there
//
// Rank 0 prints a line per round that depends on every byte of every rank, and is the same for the same ranks and
// arguments.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <spillway/spillway.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int size = 1;

uint64_t mixed(uint64_t value) {
  value ^= value >> 31;
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 29;
}

void report(int round, uint64_t own) {
  uint64_t all = 0;
  MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (rank != 0) return;
  printf("round %d: %016llx\n", round, static_cast<unsigned long long>(all));
  fflush(stdout);
}

uint64_t digest(const std::vector<uint64_t>& data) {
  uint64_t sum = 0;
  for (uint64_t value : data) sum = sum * 31 + value;
  return sum;
}

void sweep(size_t words, int rounds, bool writes) {
  std::vector<uint64_t> data(words);
  for (size_t i = 0; i < words; ++i) data[i] = mixed(i + static_cast<uint64_t>(rank) * words);
  for (int round = 0; round < rounds; ++round) {
    report(round, digest(data));
    for (size_t i = round % 2; writes && i < words / 2; i += 2) data[i] = mixed(data[i] + data[words - 1 - i]);
  }
  report(rounds, digest(data));
}

void exchange(size_t words, int rounds) {
  const size_t part = words / static_cast<size_t>(size);
  std::vector<uint64_t> out(part * static_cast<size_t>(size)), in(out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = mixed(i + static_cast<uint64_t>(rank));
  for (int round = 0; round < rounds; ++round) {
    MPI_Alltoall(out.data(), static_cast<int>(part), MPI_UINT64_T, in.data(), static_cast<int>(part), MPI_UINT64_T,
                 MPI_COMM_WORLD);
    report(round, digest(in));
    for (size_t i = 0; i < in.size(); ++i) out[i] = mixed(in[i]);
  }
}

void overlap(size_t words, int rounds) {
  const size_t part = words / static_cast<size_t>(size);
  std::vector<uint64_t> out(part * static_cast<size_t>(size)), in(out.size()), other(out.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = mixed(i + static_cast<uint64_t>(rank));
  for (int round = 0; round < rounds; ++round) {
    MPI_Request requests[2];
    MPI_Ialltoall(out.data(), static_cast<int>(part), MPI_UINT64_T, in.data(), static_cast<int>(part), MPI_UINT64_T,
                  MPI_COMM_WORLD, &requests[0]);
    const uint64_t mine = out[words / 2];
    uint64_t largest = 0;
    MPI_Iallreduce(&mine, &largest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
    for (size_t i = 0; i < other.size(); ++i) other[i] = mixed(other[i] + i);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    report(round, digest(in) + digest(other) + largest);
    for (size_t i = 0; i < in.size(); ++i) out[i] = mixed(in[i] + other[i]);
  }
}

// Messages that were sent while there was room for them wait while there is none.
void pile(size_t words, size_t own_words) {
  std::vector<uint64_t> message(words), in;
  for (size_t i = 0; i < words; ++i) message[i] = mixed(i + static_cast<uint64_t>(rank));
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Isend(message.data(), static_cast<int>(words), MPI_UINT64_T, (rank + 1) % size, 0, MPI_COMM_WORLD, &sent);
  MPI_Barrier(MPI_COMM_WORLD);
  {
    std::vector<uint64_t> own(own_words);
    for (size_t i = 0; i < own_words; ++i) own[i] = mixed(i * static_cast<uint64_t>(rank + 1));
    report(0, digest(own));
  }
  in.resize(words);
  MPI_Recv(in.data(), static_cast<int>(words), MPI_UINT64_T, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  report(1, digest(in));
}

void usage(size_t words) {
  const std::vector<uint64_t> data(words, 1);
  spillway_usage now{};
  if (spillway_get_usage(&now) != 0) {
    if (rank == 0) printf("not under Spillway\n");
  } else if (rank == 0) {
    printf("managed %llu resident %llu budget %llu slots %u\n", static_cast<unsigned long long>(now.managed_bytes),
           static_cast<unsigned long long>(now.resident_bytes), static_cast<unsigned long long>(now.budget_bytes),
           now.slots);
  }
  report(0, digest(data));
}

// Exit status of a child that runs `body`, or 1 when it did not exit.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void fork_twice(size_t words) {
  const std::vector<uint64_t> data(words, 7);
  const uint64_t wanted = digest(data);
  const auto look = [&] { return digest(data) == wanted ? 0 : 2; };
  const int failed = in_child([&] { return look() + in_child(look); });
  report(0, static_cast<uint64_t>(failed));
}

uint64_t* counters = nullptr;
size_t counter_count = 0;
volatile sig_atomic_t signal_count = 0;

void count_signal(int) {
  const auto number = static_cast<size_t>(signal_count);
  signal_count = signal_count + 1;
  ++counters[number * 8191 % counter_count];  // on another page every time
}

// Signals come while the rank computes, sleeps, and unloads.
void count_in_handler(size_t words, int rounds) {
  std::vector<uint64_t> data(words);
  counters = data.data();
  counter_count = words;
  struct sigaction action {};
  action.sa_handler = count_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  itimerval timer{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &timer, nullptr);
  uint64_t sum = 0;
  for (int round = 0; round < rounds; ++round) {
    for (uint64_t value : data) sum += value;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  sum = 0;
  for (uint64_t value : data) sum += value;
  report(0, sum == static_cast<uint64_t>(signal_count) && sum > 0 ? 0 : 1);
}

// `body` runs in the other thread after its calls, and `meanwhile` in this one.
template <typename Body, typename Meanwhile>
void communicate_in_thread(Body body, Meanwhile meanwhile) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  std::thread other([&] {
    char token = 1;
    MPI_Bcast(&token, 1, MPI_CHAR, 0, own);
    MPI_Barrier(own);
    body();
  });
  meanwhile();
  other.join();
  MPI_Comm_free(&own);
}

// Makes a child that traces the calling thread until it is killed.
pid_t start_tracer() {
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  int said[2];
  if (pipe(said) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  const pid_t child = fork();
  if (child == 0) {
    const bool does_trace = ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0;
    if (write(said[1], &does_trace, 1) != 1 || !does_trace) _exit(1);
    for (;;) pause();
  }
  char does_trace = 0;
  if (read(said[0], &does_trace, 1) != 1 || does_trace == 0) MPI_Abort(MPI_COMM_WORLD, 4);
  close(said[0]);
  close(said[1]);
  return child;
}

void sweep_beside_a_pool(size_t words, int rounds, bool is_traced) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_waiting = false, is_over = false;
  const auto wait_for_work = [&] {
    const pid_t tracer = is_traced ? start_tracer() : 0;
    {
      std::unique_lock lock(mutex);
      is_waiting = true;
      changed.notify_all();
      changed.wait(lock, [&] { return is_over; });
    }
    if (tracer == 0) return;
    kill(tracer, SIGKILL);
    waitpid(tracer, nullptr, 0);
  };
  communicate_in_thread(wait_for_work, [&] {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_waiting; });
    lock.unlock();
    sweep(words, rounds, true);
    lock.lock();
    is_over = true;
    changed.notify_all();
  });
}

// All four threads of every rank but 0 wait for messages while rank 0 needs room.
void fill_while_all_threads_wait(size_t words) {
  constexpr int kThreads = 4;
  std::vector<uint64_t> data(words);
  for (size_t i = 0; i < words; ++i) data[i] = mixed(i + static_cast<uint64_t>(rank) * words);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto wait_for_end = [](int tag) {
    char token = 0;
    MPI_Recv(&token, 1, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  if (rank == 0) {
    usleep(300000);
    std::vector<uint64_t> more(words);
    for (size_t i = 0; i < words; ++i) more[i] = mixed(data[i]);
    const char token = 1;
    for (int to = 1; to < size; ++to)
      for (int tag = 0; tag < kThreads; ++tag) MPI_Send(&token, 1, MPI_CHAR, to, tag, MPI_COMM_WORLD);
    report(0, digest(more));
  } else {
    std::vector<std::thread> others;
    for (int tag = 1; tag < kThreads; ++tag) others.emplace_back(wait_for_end, tag);
    wait_for_end(0);
    for (std::thread& other : others) other.join();
    report(0, digest(data));
  }
}

void sweep_beside_a_thread_that_writes(size_t words, int rounds) {
  std::vector<uint64_t> data(words);
  std::atomic<bool> is_over = false;
  uint64_t passes = 0;
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::thread other([&] {
    for (; !is_over; ++passes)
      for (size_t i = 0; i < data.size(); ++i) {
        ++data[i];
        if (i % 1024 == 0 && write(nowhere, &data[i], sizeof data[i]) != sizeof data[i]) abort();
      }
  });
  sweep(words, rounds, true);
  is_over = true;
  other.join();
  close(nowhere);
  uint64_t lost = 0;
  for (const uint64_t value : data) lost += passes - value;
  report(rounds + 1, lost);
}

// What was in the second array before is of no use to anybody.
void receive_anew(size_t words, int rounds) {
  std::vector<uint64_t> own(words), anew(words);
  const int count = static_cast<int>(words);
  for (size_t i = 0; i < words; ++i) own[i] = mixed(i + static_cast<uint64_t>(rank) * words);
  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) anew = own;
    MPI_Bcast(anew.data(), count, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (size_t i = 0; i < words; ++i) own[i] = mixed(own[i] + anew[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Sendrecv(own.data(), count, MPI_UINT64_T, (rank + 1) % size, 0, anew.data(), count, MPI_UINT64_T,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < words; ++i) own[i] = mixed(own[i] + anew[i]);
    MPI_Allreduce(own.data(), anew.data(), count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < words; ++i) own[i] = mixed(own[i] + anew[i]);
    report(round, digest(own));
  }
}

// Plain MPICH 4.0 refuses this: what the last rank gets lies beside what it contributes and in it, too.
void reduce_scatter_in_place(size_t words, int rounds) {
  std::vector<uint64_t> own(words), sum(words), in_place(words);
  const int count = static_cast<int>(words);
  std::vector<int> counts(static_cast<size_t>(size), 16);
  counts.back() = count - 16 * (size - 1);
  const auto part = static_cast<size_t>(counts[static_cast<size_t>(rank)]);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < words; ++i) in_place[i] = own[i] = mixed(own[i] + i + static_cast<size_t>(rank) * words);
    MPI_Reduce_scatter(own.data(), sum.data(), counts.data(), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter(MPI_IN_PLACE, in_place.data(), counts.data(), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    uint64_t differences = 0;
    for (size_t i = 0; i < part; ++i) differences += sum[i] != in_place[i] ? 1 : 0;
    report(round, differences);
  }
}

// All but rank 0 are done with a vector when they wait for the next one.
void broadcast_anew(size_t words, int rounds) {
  std::vector<uint64_t> vector(words), digests(static_cast<size_t>(size));
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; rank == 0 && i < words; ++i) vector[i] = mixed(vector[i] + i);
    MPI_Bcast(vector.data(), static_cast<int>(words), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    const uint64_t own = digest(vector);
    MPI_Gather(&own, 1, MPI_UINT64_T, digests.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("round %d: %016llx\n", round, static_cast<unsigned long long>(digest(digests)));
  }
}

// The next rank is mostly unloaded when it is written to.
void sweep_with_windows(size_t words, int rounds) {
  constexpr size_t kPart = 1 << 17;
  std::vector<uint64_t> data(words), window(kPart);
  for (size_t i = 0; i < words; ++i) data[i] = mixed(i + static_cast<uint64_t>(rank) * words);
  MPI_Win handle = MPI_WIN_NULL;
  MPI_Win_create(window.data(), static_cast<MPI_Aint>(kPart * sizeof(uint64_t)), sizeof(uint64_t), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &handle);
  const int next = (rank + 1) % size;
  for (int round = 0; round < rounds; ++round) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, handle);
    MPI_Put(data.data(), kPart, MPI_UINT64_T, next, 0, kPart, MPI_UINT64_T, handle);
    MPI_Win_unlock(next, handle);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, handle);
    for (size_t i = 0; i < words; ++i) data[i] = mixed(data[i] + window[i % kPart]);
    MPI_Win_unlock(rank, handle);
    report(round, digest(data));
  }
  MPI_Win_free(&handle);
}

// Prints whether the kernel has refused one, and how much of what it has allocated then Spillway has.
void allocate_without_mappings(size_t words) {
  constexpr size_t kPage = 4096, kPages = size_t{1} << 18, kPieces = 4;
  if (rank != 0) return;
  std::vector<void*> pieces(kPieces);
  auto* const pages =
      static_cast<char*>(mmap(nullptr, kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  bool is_refused = false;  // each page that may be read makes two mappings more
  for (size_t page = 1; page < kPages && !is_refused; page += 2)
    is_refused = mprotect(pages + page * kPage, kPage, PROT_READ) != 0;
  spillway_usage before{}, after{};
  const bool is_known = spillway_get_usage(&before) == SPILLWAY_SUCCESS;
  for (void*& piece : pieces) piece = malloc(words * sizeof(uint64_t) / kPieces);  // the C library may have some
  if (is_known) spillway_get_usage(&after);
  munmap(pages, kPages * kPage);
  for (void* piece : pieces) free(piece);
  printf("refused %d, managed %lld\n", is_refused ? 1 : 0,
         static_cast<long long>(after.managed_bytes) - static_cast<long long>(before.managed_bytes));
}

void idle(const char* pipe) {
  char token = 0;
  if (rank == 0) {
    printf("waiting\n");
    fflush(stdout);
    const int end = open(pipe, O_RDONLY);
    if (read(end, &token, 1) != 1) MPI_Abort(MPI_COMM_WORLD, 2);
    close(end);
    for (int to = 1; to < size; ++to) MPI_Send(&token, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&token, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto is_asked_for = [&](const char* name) { return argc > 1 && strcmp(argv[1], name) == 0; };
  int wanted = MPI_THREAD_SINGLE, provided = MPI_THREAD_SINGLE;
  if (is_asked_for("threads") || is_asked_for("pool") || is_asked_for("traced") || is_asked_for("receivers"))
    wanted = MPI_THREAD_MULTIPLE;
  if (is_asked_for("compute")) wanted = MPI_THREAD_FUNNELED;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  if (provided < wanted) {
    fprintf(stderr, "phases: the MPI library does not grant the level of threads\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const size_t words = argc > 2 ? strtoull(argv[2], nullptr, 10) * (1 << 20) / sizeof(uint64_t) : 0;
  const int rounds = argc > 3 ? atoi(argv[3]) : 1;
  if (argc > 2 && is_asked_for("sweep")) {
    sweep(words, rounds, true);
  } else if (argc > 2 && is_asked_for("read")) {
    sweep(words, rounds, false);
  } else if (argc > 2 && is_asked_for("exchange")) {
    exchange(words, rounds);
  } else if (argc > 2 && is_asked_for("overlap")) {
    overlap(words, rounds);
  } else if (argc > 3 && is_asked_for("pile")) {
    pile(words, strtoull(argv[3], nullptr, 10) * (1 << 20) / sizeof(uint64_t));
  } else if (argc > 2 && is_asked_for("threads")) {
    communicate_in_thread([] {}, [] {});
    sweep(words, rounds, true);
  } else if (argc > 2 && is_asked_for("pool")) {
    sweep_beside_a_pool(words, rounds, false);
  } else if (argc > 2 && is_asked_for("traced")) {
    sweep_beside_a_pool(words, rounds, true);
  } else if (argc > 2 && is_asked_for("receivers")) {
    fill_while_all_threads_wait(words);
  } else if (argc > 2 && is_asked_for("compute")) {
    sweep_beside_a_thread_that_writes(words, rounds);
  } else if (argc > 2 && is_asked_for("receive")) {
    receive_anew(words, rounds);
  } else if (argc > 2 && is_asked_for("reduce")) {
    reduce_scatter_in_place(words, rounds);
  } else if (argc > 2 && is_asked_for("broadcast")) {
    broadcast_anew(words, rounds);
  } else if (argc > 2 && is_asked_for("window")) {
    sweep_with_windows(words, rounds);
  } else if (argc > 2 && is_asked_for("fork")) {
    fork_twice(words);
  } else if (argc > 2 && is_asked_for("usage")) {
    usage(words);
  } else if (argc > 3 && is_asked_for("handler")) {
    count_in_handler(words, rounds);
  } else if (argc > 2 && is_asked_for("mappings")) {
    allocate_without_mappings(words);
  } else if (argc > 2 && is_asked_for("idle")) {
    idle(argv[2]);
  } else {
    fprintf(stderr, "phases: unknown arguments\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
