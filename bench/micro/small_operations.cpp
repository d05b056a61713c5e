// small-operations: how long single operations take, in microseconds: the median of several batches.
//
//   small-operations ping-pong BYTES ROUNDS   half a round trip between ranks 0 and 1
//   small-operations allreduce BYTES ROUNDS   a sum of BYTES / 8 numbers over all ranks
//   small-operations fence BYTES ROUNDS       a put of BYTES to the next rank's window, and a fence
//   small-operations allocate BYTES ROUNDS    a piece of 1 to BYTES bytes is freed, another one is allocated, and its
//   first
//                                             byte written; 20,000 live
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int kBatches = 11;

int rank = 0;

void ping_pong(std::vector<double>& data) {
  const int count = static_cast<int>(data.size() * sizeof(double));
  if (rank == 0) {
    MPI_Send(data.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(data.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(data.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

void allreduce(std::vector<double>& data) {
  static std::vector<double> sum(data.size());
  MPI_Allreduce(data.data(), sum.data(), static_cast<int>(data.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

MPI_Win window = MPI_WIN_NULL;

void fence(std::vector<double>& data) {
  static std::vector<double> received(data.size());
  static int size = 0;
  const int count = static_cast<int>(data.size());
  if (window == MPI_WIN_NULL) {
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create(received.data(), static_cast<MPI_Aint>(data.size() * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
  }
  MPI_Put(data.data(), count, MPI_DOUBLE, (rank + 1) % size, 0, count, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
}

void allocate(std::vector<double>& data) {
  constexpr size_t kPieces = 20000;
  static std::vector<char*> pieces(kPieces);
  static uint32_t state = 1;
  const auto next = [] { return (state = state * 1664525 + 1013904223) >> 8; };
  char*& piece = pieces[next() % kPieces];
  std::free(piece);
  piece = static_cast<char*>(std::malloc(1 + next() % (data.size() * sizeof(double))));
  *piece = 1;
}

// Of one round. The first batch brings in code, memory and connections.
double median_us(void (*operation)(std::vector<double>&), std::vector<double>& data, int rounds) {
  std::vector<double> times;
  for (int batch = 0; batch <= kBatches; ++batch) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) operation(data);
    if (batch > 0) times.push_back((MPI_Wtime() - begin) / rounds * 1e6);
  }
  std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
  return times[kBatches / 2];
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argument_count != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const std::string kind = arguments[1];
  const bool is_ping_pong = kind == "ping-pong";
  const auto operation = is_ping_pong ? ping_pong : kind == "fence" ? fence : kind == "allocate" ? allocate : allreduce;
  std::vector<double> data(std::strtoull(arguments[2], nullptr, 10) / sizeof(double), 1.0);
  const double us = median_us(operation, data, std::atoi(arguments[3]));
  if (rank == 0) std::printf("microseconds: %.4f\n", is_ping_pong ? us / 2 : us);
  std::fflush(stdout);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
