// A profiling tool in the program itself: counts the messages that the program sends, by way of MPI's profiling
// interface, and says how many. Each rank sends ten to the next one.
#include <mpi.h>

#include <cstdio>

namespace {
int sent = 0;
}

extern "C" int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sent;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}

extern "C" int MPI_Finalize() {
  int rank = 0, total = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(&sent, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d messages sent\n", total);
  return PMPI_Finalize();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
  for (int i = 0; i < 10; ++i) {
    const int mine = rank * 10 + i;
    int got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&got, 1, MPI_INT, previous, i, MPI_COMM_WORLD, &request);
    MPI_Send(&mine, 1, MPI_INT, next, i, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (got != previous * 10 + i) MPI_Abort(MPI_COMM_WORLD, 9);
  }
  return MPI_Finalize();
}
