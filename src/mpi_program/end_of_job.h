// How libraries that ordinary MPI programs are linked with end a job that cannot go on: one message that says which
// rank has which cause, then MPI_Abort().
#pragma once

#include <mpi.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>

namespace spillway::mpi_program {

// What a launcher has not read when it hears of MPI_Abort, some drop: the message would be lost.
inline constexpr std::chrono::milliseconds kUntilRead{200};

class EndOfJob {
 public:
  // `library` stands before each message.
  explicit constexpr EndOfJob(const char* library) : library_(library) {}

  // Rank and host, for messages. After MPI_Init.
  void learn_place() {
    int rank = 0;
    int count = 0;
    char host[256] = "";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    gethostname(host, sizeof host - 1);
    std::snprintf(place_, sizeof place_, "rank %d of %d on %s: ", rank, count, host);
  }

  // From any thread. Returns when it can be taken that the launcher has read it.
  void tell(std::string_view cause) const {
    dprintf(STDERR_FILENO, "%s: %s%.*s\n", library_, place_, static_cast<int>(cause.size()), cause.data());
    std::this_thread::sleep_for(kUntilRead);
  }

  [[noreturn]] void end(std::string_view cause, int status = 1) const {
    std::fflush(nullptr);
    tell(cause);
    abort(status);
  }

  // Without a message. Where MPI does not run, of this process alone.
  [[noreturn]] static void abort(int status = 1) {
    int is_begun = 0;
    int is_over = 0;
    MPI_Initialized(&is_begun);
    MPI_Finalized(&is_over);
    if (is_begun != 0 && is_over == 0) MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
  }

 private:
  const char* library_;
  char place_[320] = "";
};

}  // namespace spillway::mpi_program
