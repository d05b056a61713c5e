// flood [messages]: with 300000, more small messages than the node has cells for, to ranks that are busy elsewhere.
// Senders must wait for them, nobody for ever, and the order must hold.
#include <unistd.h>

#include <cstdlib>

#include "checked_program.h"

namespace {

constexpr int kBusyMicroseconds = 300000;

// Rank 0's messages i = 0, 1, ... to the last rank; MPICH has fewer requests than this program sends messages, so none
// is kept.
void send_numbers(const std::vector<int>& numbers, int receiver, int tag) {
  for (const int& number : numbers) {
    MPI_Request request;
    MPI_Isend(&number, 1, MPI_INT, receiver, tag, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
}

void receive_numbers(CheckedProgram& program, const std::vector<int>& numbers, int tag) {
  size_t in_order = 0;
  for (int number : numbers) {
    int got = -1;
    MPI_Recv(&got, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (got == number) ++in_order;
  }
  program.equal(in_order, numbers.size());
}

std::vector<int> numbers_below(int end) {
  std::vector<int> numbers(static_cast<size_t>(end));
  for (int i = 0; i < end; ++i) numbers[static_cast<size_t>(i)] = i;
  return numbers;
}

// To a rank that makes no MPI call for a while.
void unexpected(CheckedProgram& program, int messages) {
  const int receiver = program.size() - 1;
  const std::vector<int> numbers = numbers_below(messages);
  if (program.rank() == 0) send_numbers(numbers, receiver, 3);
  if (program.rank() == receiver) {
    if (receiver != 0) usleep(kBusyMicroseconds);
    receive_numbers(program, numbers, 3);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Synchronous sends to posted receives, and behind them others. Each synchronous send must be acknowledged, for which
// the receiver needs a cell when none is free.
void acknowledged(CheckedProgram& program, int messages) {
  const int receiver = program.size() - 1, synchronous = messages / 4;
  const std::vector<int> numbers = numbers_below(messages - synchronous), out = numbers_below(synchronous);
  std::vector<int> in(out.size(), -1);
  std::vector<MPI_Request> receives(out.size(), MPI_REQUEST_NULL), sends(out.size(), MPI_REQUEST_NULL);
  for (size_t i = 0; program.rank() == receiver && i < in.size(); ++i)
    MPI_Irecv(&in[i], 1, MPI_INT, 0, 7, MPI_COMM_WORLD, &receives[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  if (program.rank() == receiver && receiver != 0) usleep(kBusyMicroseconds);
  if (program.rank() == 0) {
    for (size_t i = 0; i < out.size(); ++i) MPI_Issend(&out[i], 1, MPI_INT, receiver, 7, MPI_COMM_WORLD, &sends[i]);
    send_numbers(numbers, receiver, 8);
  }
  MPI_Waitall(synchronous, sends.data(), MPI_STATUSES_IGNORE);
  MPI_Waitall(synchronous, receives.data(), MPI_STATUSES_IGNORE);
  if (program.rank() == receiver) {
    program.holds(in == out);
    receive_numbers(program, numbers, 8);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  const int messages = argc > 1 ? atoi(argv[1]) : 1000;
  unexpected(program, messages);
  acknowledged(program, messages);
  return program.finish();
}
