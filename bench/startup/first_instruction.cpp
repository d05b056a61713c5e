// first-instruction: says when each rank came back from MPI_Init, on the machine's monotonic clock, in nanoseconds. The
// benchmark knows when it started the launcher on the same clock.
#include <mpi.h>

#include <cstdio>
#include <ctime>

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::printf("rank %d: %lld\n", rank, now.tv_sec * 1000000000LL + now.tv_nsec);
  std::fflush(stdout);
  MPI_Finalize();
  return 0;
}
