// Several threads of each rank in MPI at a time (MPI 4.1, 11.6): messages that cross in any order, probes, tests and
// waits, collective operations and new communicators of each thread's own, while memory of every thread keeps what was
// written to it.
#include <atomic>
#include <chrono>
#include <thread>

#include "checked_program.h"
#include "library_sum.h"

namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 12;
constexpr int kLength = 100000;  // 400 kB: storage-backed

// Checks are counted by the program's one object, which threads share.
class Counter {
 public:
  void holds(bool right) { right ? ++right_ : ++wrong_; }
  int right() const { return right_; }
  int wrong() const { return wrong_; }

 private:
  std::atomic<int> right_ = 0, wrong_ = 0;
};

struct Neighbours {
  int rank, left, right;
};

int tag_of(int thread, int round, int kind) { return (thread * kRounds + round) * 8 + kind; }

void exchange(const Neighbours& at, int thread, int round, Counter& counter) {
  const int length = round % 3 == 0 ? 10 : round % 3 == 1 ? 3000 : kLength;
  const int tag = tag_of(thread, round, 0);
  const std::vector<int> out = patterned(at.rank, tag, length);
  std::vector<int> in(length, -1);
  MPI_Request requests[2];
  MPI_Irecv(in.data(), length, MPI_INT, at.left, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out.data(), length, MPI_INT, at.right, tag, MPI_COMM_WORLD, &requests[1]);
  if (round % 2 == 0) {
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    for (int is_done = 0; is_done == 0;) MPI_Testall(2, requests, &is_done, MPI_STATUSES_IGNORE);
  }
  counter.holds(in == patterned(at.left, tag, length));
}

void probed_message(const Neighbours& at, int thread, int round, Counter& counter) {
  const int tag = tag_of(thread, round, 1), length = 100 + thread;
  const std::vector<int> out = patterned(at.rank, tag, length);
  MPI_Request sent = MPI_REQUEST_NULL;
  MPI_Isend(out.data(), length, MPI_INT, at.right, tag, MPI_COMM_WORLD, &sent);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  std::vector<int> in(static_cast<size_t>(count));
  MPI_Mrecv(in.data(), count, MPI_INT, &message, &status);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  counter.holds(count == length && status.MPI_SOURCE == at.left && in == patterned(at.left, tag, length));
}

void synchronous_message(const Neighbours& at, int thread, int round, Counter& counter) {
  const int tag = tag_of(thread, round, 2), mine = at.rank * 1000 + tag;
  int got = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&got, 1, MPI_INT, at.left, tag, MPI_COMM_WORLD, &request);
  MPI_Ssend(&mine, 1, MPI_INT, at.right, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  counter.holds(got == at.left * 1000 + tag);
}

// On a communicator of the thread's own: threads of a rank may take part in several collective operations at a time.
void collective(MPI_Comm comm, int thread, int round, Counter& counter) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int sum = 0, mine = rank + thread;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  counter.holds(sum == size * (size - 1) / 2 + size * thread);
  int word = rank == round % size ? round + 7 : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&word, 1, MPI_INT, round % size, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  counter.holds(word == round + 7);
  MPI_Request begun[2];
  int prefix = 0;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &begun[0]);
  MPI_Iscan(&mine, &prefix, 1, MPI_INT, MPI_SUM, comm, &begun[1]);
  MPI_Waitall(2, begun, MPI_STATUSES_IGNORE);
  counter.holds(sum == size * (size - 1) / 2 + size * thread);
  counter.holds(prefix == rank * (rank + 1) / 2 + (rank + 1) * thread);
  const LibrarySum library;
  library.start(&mine, &sum, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  counter.holds(sum == size * (size - 1) / 2 + size * thread);
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(comm, &copy);
  MPI_Barrier(copy);
  MPI_Comm_free(&copy);
}

void work(const Neighbours& at, MPI_Comm comm, int thread, Counter& counter) {
  const std::vector<int> kept = patterned(at.rank, 90000 + thread, kLength);
  for (int round = 0; round < kRounds; ++round) {
    exchange(at, thread, round, counter);
    probed_message(at, thread, round, counter);
    synchronous_message(at, thread, round, counter);
    if (round % 3 == 0) collective(comm, thread, round, counter);
  }
  counter.holds(kept == patterned(at.rank, 90000 + thread, kLength));
}

// Threads of the first two ranks make communicators of the same two, in either order, at a time. First comes one call
// of each.
void opposite_groups(CheckedProgram& program) {
  if (program.size() < 2 || program.rank() > 1) return;
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const auto make = [&](bool is_reversed) {
    const int order[2] = {is_reversed ? 1 : 0, is_reversed ? 0 : 1};
    MPI_Group group;
    MPI_Group_incl(world, 2, order, &group);
    if (is_reversed == (program.rank() == 1)) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_create_group(MPI_COMM_WORLD, group, is_reversed ? 1 : 0, &made);
    MPI_Group_free(&group);
    MPI_Comm_free(&made);
  };
  std::thread other(make, true);
  make(false);
  other.join();
  MPI_Group_free(&world);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CheckedProgram program;
  program.equal(provided, static_cast<int>(MPI_THREAD_MULTIPLE));
  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  Counter counter;
  const Neighbours at{program.rank(), program.left(), program.right()};
  std::vector<std::thread> threads;
  for (int thread = 1; thread < kThreads; ++thread)
    threads.emplace_back([&, thread] { work(at, comms[thread], thread, counter); });
  work(at, comms[0], 0, counter);
  for (std::thread& thread : threads) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  opposite_groups(program);
  program.equal(counter.wrong(), 0);
  program.equal(counter.right(), kThreads * (kRounds * 3 + kRounds / 3 * 5 + 1));
  return program.finish();
}
