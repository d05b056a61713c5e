// round-trips: an MPI program, one rank on each node, that `spillway tune` runs to learn how far the nodes are from
// each other. Each pair exchanges short messages, while neither has anything else to do; what they took, the couriers'
// connections know (min_rtt_us in the summary).
#include <mpi.h>

namespace {

// The couriers look at a connection rarely, and may have missed half of them.
constexpr int kMessages = 100;

int rank = 0;

void exchange_with(int other) {
  char word = 0;
  for (int i = 0; i < kMessages; ++i) {
    if (rank < other) MPI_Send(&word, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > other) MPI_Send(&word, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD);
  }
}

// In a tournament of `rounds` rounds, an odd number, and one more players. The last player meets whoever would meet
// himself.
int opponent(int round, int rounds) {
  if (rank == rounds) return round;
  const int other = (2 * round + rounds - rank) % rounds;
  return other == rank ? rounds : other;
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = size - 1 + size % 2;
  for (int round = 0; round < rounds; ++round) {
    const int other = opponent(round, rounds);
    if (other < size) exchange_with(other);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
