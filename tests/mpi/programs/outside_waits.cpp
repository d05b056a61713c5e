// Ranks that wait for each other by means that are not MPI's, which a program may: rank 0 reads from a named pipe that
// rank 1 opens only after a message of rank 2. When rank 0 sleeps with the only slot, somebody else must get one, and
// memory for it.
//
//   outside_waits PIPE [MIB]      with MIB of memory in each rank
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "checked_program.h"

namespace {

// Returns what came through, once somebody has written it.
int read_from(const char* pipe) {
  const int descriptor = open(pipe, O_RDONLY);
  int value = 0;
  if (read(descriptor, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) value = -1;
  close(descriptor);
  return value;
}

void write_to(const char* pipe, int value) {
  const int descriptor = open(pipe, O_WRONLY);
  if (write(descriptor, &value, sizeof value) != static_cast<ssize_t>(sizeof value)) MPI_Abort(MPI_COMM_WORLD, 1);
  close(descriptor);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  const char* pipe = argc > 1 ? argv[1] : "";
  if (program.rank() == 0) mkfifo(pipe, 0600);
  std::vector<int> data(argc > 2 ? strtoul(argv[2], nullptr, 10) * (1 << 20) / sizeof(int) : 1, program.rank());
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    int value = 0;
    if (program.rank() == 0) program.equal(read_from(pipe), 100 + round);
    if (program.rank() == 2) {
      value = 100 + round;
      MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    if (program.rank() == 1) {
      MPI_Recv(&value, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      write_to(pipe, value);
    }
  }
  for (int value : data)
    if (value != program.rank()) program.equal(value, program.rank());
  if (program.rank() == 0) unlink(pipe);
  return program.finish();
}
