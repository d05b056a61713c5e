// blocked-ranks SECONDS [sleep]: rank 0 computes for SECONDS, or sleeps, while all others wait for a message from it.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace {

// The others need a moment to go from their last message to waiting.
constexpr double kSettleSeconds = 0.5;

void compute(double seconds) {
  volatile double value = 1;
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;) {
    for (int step = 0; step < 100000; ++step) {
      value = value * 1.0000001;
    }
  }
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

void say(const char* what) {
  std::puts(what);
  std::fflush(stdout);
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const double seconds = argument_count > 1 ? std::atof(arguments[1]) : 1;
  const auto spend = argument_count > 2 && std::string_view(arguments[2]) == "sleep" ? sleep_for : compute;
  if (rank > 0) {
    MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    for (int peer = 1; peer < ranks; ++peer) {
      MPI_Recv(nullptr, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    spend(kSettleSeconds);
    say("begin");
    spend(seconds);
    say("end");
    // While the benchmark takes its second reading: so that the others are still waiting.
    spend(kSettleSeconds);
    for (int peer = 1; peer < ranks; ++peer) {
      MPI_Send(nullptr, 0, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
  return 0;
}
