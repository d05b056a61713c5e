// small-operations KIND BYTES ROUNDS [BATCHES]: how long single operations take, in microseconds: the median of several
// batches (11) of so many rounds. What the operations bring is looked at between the batches.
//
//   ping-pong   half a round trip between ranks 0 and 1
//   broadcast   of rank 0 to all others
//   allreduce   a sum of BYTES / 8 numbers over all ranks
//   fence       a put of BYTES to the next rank's window, and a fence
//   allocate    a piece of 1 to BYTES bytes is freed, another one is allocated, and its first byte written; 20,000 live
//
// A batch begins at a barrier. Each rank takes its own time from leaving it until its own part is done, as clocks of
// hosts differ, and the longest of these is the batch's: a broadcast has ended when the last rank has the data.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <vector>

namespace {

int rank = 0;
int ranks = 0;
std::vector<double> data;
std::vector<double> received;  // by operations that do not receive into `data`
MPI_Win window = MPI_WIN_NULL;

void ping_pong() {
  const int count = static_cast<int>(data.size() * sizeof(double));
  if (rank == 0) {
    MPI_Send(data.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(data.data(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(data.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data.data(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
}

void broadcast() { MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD); }

void allreduce() {
  MPI_Allreduce(data.data(), received.data(), static_cast<int>(data.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void fence() {
  const int count = static_cast<int>(data.size());
  if (window == MPI_WIN_NULL) {
    MPI_Win_create(received.data(), static_cast<MPI_Aint>(data.size() * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
  }
  MPI_Put(data.data(), count, MPI_DOUBLE, (rank + 1) % ranks, 0, count, MPI_DOUBLE, window);
  MPI_Win_fence(0, window);
}

void allocate() {
  constexpr size_t kPieces = 20000;
  static std::vector<char*> pieces(kPieces);
  static uint32_t state = 1;
  const auto next = [] { return (state = state * 1664525 + 1013904223) >> 8; };
  char*& piece = pieces[next() % kPieces];
  std::free(piece);
  piece = static_cast<char*>(std::malloc(1 + next() % (data.size() * sizeof(double))));
  *piece = 1;
}

struct Kind {
  const char* name;
  void (*perform)();
  int receivers;  // so many ranks from 1 on receive into their data what rank 0 has there
  bool uses_received;
  bool is_sum;
};

constexpr int kAll = 1 << 30;
constexpr Kind kKinds[] = {
    {"ping-pong", ping_pong, 1, false, false}, {"broadcast", broadcast, kAll, false, false},
    {"allreduce", allreduce, 0, true, true},   {"fence", fence, 0, true, false},
    {"allocate", allocate, 0, false, false},
};

// Each batch has other data, in a period that is no power of two: so no block passes for another one.
double value(size_t place, int batch) { return static_cast<double>((place + static_cast<size_t>(batch)) % 1021 + 1); }

void prepare(const Kind& kind, int batch) {
  const bool receives = rank > 0 && rank <= kind.receivers;
  for (size_t place = 0; place < data.size(); ++place) data[place] = receives ? 0 : value(place, batch);
}

void check(const Kind& kind, int batch) {
  const std::vector<double>& result = kind.uses_received ? received : data;
  const int times = kind.is_sum ? ranks : 1;
  for (size_t place = 0; place < result.size(); ++place) {
    if (result[place] == times * value(place, batch)) continue;
    std::fprintf(stderr, "small-operations: rank %d has a wrong result at %zu\n", rank, place);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

// Of one round. The first batch brings in code, memory and connections.
double median_us(const Kind& kind, int rounds, int batches) {
  std::vector<double> times;
  for (int batch = 0; batch <= batches; ++batch) {
    prepare(kind, batch);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int round = 0; round < rounds; ++round) kind.perform();
    const double elapsed = MPI_Wtime() - begin;
    if (batch > 0) times.push_back(elapsed / rounds * 1e6);
    check(kind, batch);
  }
  MPI_Allreduce(MPI_IN_PLACE, times.data(), batches, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[static_cast<size_t>(batches / 2)];
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const std::string name = argument_count > 1 ? arguments[1] : "";
  const Kind* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& each) { return name == each.name; });
  const int rounds = argument_count > 3 ? std::atoi(arguments[3]) : 0;
  const int batches = argument_count > 4 ? std::atoi(arguments[4]) : 11;
  if (kind == std::end(kKinds) || rounds < 1 || batches < 1) MPI_Abort(MPI_COMM_WORLD, 2);
  data.resize(std::strtoull(arguments[2], nullptr, 10) / sizeof(double));
  if (kind->uses_received) received.resize(data.size());
  const double us = median_us(*kind, rounds, batches);
  if (rank == 0) std::printf("microseconds: %.4f\n", name == "ping-pong" ? us / 2 : us);
  std::fflush(stdout);
  if (window != MPI_WIN_NULL) MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
