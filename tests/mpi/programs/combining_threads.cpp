// `combining_threads any-word KiB rounds`: threads of each rank begin nonblocking reductions at the same time, each on
// a communicator of its own. With little memory they sleep meanwhile until there is room for what they contribute, so
// that others of the rank come to their own before they have ended.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "checked_program.h"

namespace {

constexpr int kThreads = 4, kOpen = 3;

using Vector = std::vector<uint64_t>;

class Worker {
 public:
  Worker(MPI_Comm comm, int thread, size_t length) : comm_(comm), thread_(static_cast<uint64_t>(thread)) {
    int rank = 0, size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    rank_ = static_cast<uint64_t>(rank);
    size_ = static_cast<uint64_t>(size);
    for (int i = 0; i < kOpen; ++i) {
      own_[i].resize(length);
      result_[i].resize(length);
    }
  }

  // How many of its results were wrong.
  int work(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      const int length = static_cast<int>(own_[0].size()), root = round % static_cast<int>(size_);
      const uint64_t more = static_cast<uint64_t>(round) * kThreads + thread_;
      for (int i = 0; i < kOpen; ++i) {
        own_[i].assign(own_[i].size(), rank_ + more + static_cast<uint64_t>(i));
        result_[i].assign(result_[i].size(), 0);
      }
      MPI_Request requests[kOpen];
      MPI_Iallreduce(own_[0].data(), result_[0].data(), length, MPI_UINT64_T, MPI_SUM, comm_, &requests[0]);
      MPI_Ireduce(own_[1].data(), result_[1].data(), length, MPI_UINT64_T, MPI_SUM, root, comm_, &requests[1]);
      MPI_Iscan(own_[2].data(), result_[2].data(), length, MPI_UINT64_T, MPI_SUM, comm_, &requests[2]);
      MPI_Waitall(kOpen, requests, MPI_STATUSES_IGNORE);
      check(0, size_, more);
      check(1, static_cast<int>(rank_) == root ? size_ : 0, more + 1);
      check(2, rank_ + 1, more + 2);
    }
    return wrong_;
  }

 private:
  // The sum of the first so many ranks.
  void check(int i, uint64_t ranks, uint64_t more) {
    const uint64_t wanted = ranks == 0 ? 0 : ranks * (ranks - 1) / 2 + ranks * more;
    if (result_[i] != Vector(result_[i].size(), wanted)) ++wrong_;
  }

  MPI_Comm comm_;
  uint64_t thread_, rank_ = 0, size_ = 0;
  Vector own_[kOpen], result_[kOpen];
  int wrong_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CheckedProgram program(argc, argv);
  program.equal(provided, static_cast<int>(MPI_THREAD_MULTIPLE));
  const size_t length = (static_cast<size_t>(argc > 2 ? atoi(argv[2]) : 1) << 10) / sizeof(uint64_t);
  const int rounds = argc > 3 ? atoi(argv[3]) : 1;
  MPI_Comm comms[kThreads];
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::atomic<int> wrong = 0;
  const auto work = [&](int thread) { wrong += Worker(comms[thread], thread, length).work(rounds); };
  std::vector<std::thread> threads;
  for (int thread = 1; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  work(0);
  for (std::thread& thread : threads) thread.join();
  program.equal(wrong.load(), 0);
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  return program.finish();
}
