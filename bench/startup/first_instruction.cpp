// first-instruction: says when each rank entered main and when it came back from MPI_Init, on the machine's monotonic
// clock, in nanoseconds. The benchmark knows when it started the launcher on the same clock.
#include <mpi.h>

#include <cstdio>
#include <ctime>

namespace {

long long now_ns() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const long long entered_ns = now_ns();
  MPI_Init(&argument_count, &arguments);
  const long long initialised_ns = now_ns();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("rank %d: %lld %lld\n", rank, entered_ns, initialised_ns);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
