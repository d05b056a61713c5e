// broadcast-times: an MPI program, one rank on each node, that `spillway tune` runs for each algorithm. Writes, for
// several numbers of nodes and of bytes, "nodes bytes microseconds".
//
// A time is the median of several rounds, each from the root's call until it has an answer of every rank that has the
// data. The clock is the root's alone; the answers add the same to all algorithms.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kLeastRounds = 3;
constexpr int kMostRounds = 50;
constexpr double kEnoughSeconds = 0.3;

int rank = 0;

double broadcast_seconds(MPI_Comm nodes, std::vector<char>& data) {
  MPI_Barrier(nodes);
  const double begin = MPI_Wtime();
  MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_BYTE, 0, nodes);
  const char last = data.back();
  int arrived = 0;
  const int mine = last == 1 ? 1 : 0;
  MPI_Reduce(&mine, &arrived, 1, MPI_INT, MPI_SUM, 0, nodes);
  int size = 0;
  MPI_Comm_size(nodes, &size);
  if (rank == 0 && arrived != size) {
    std::fprintf(stderr, "broadcast-times: %d of %d nodes have got wrong data\n", size - arrived, size);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return MPI_Wtime() - begin;
}

double median_seconds(MPI_Comm nodes, std::vector<char>& data) {
  std::vector<double> rounds;
  double total = 0;
  for (int goes_on = 1; goes_on != 0;) {
    std::memset(data.data(), rank == 0 ? 1 : 0, data.size());
    rounds.push_back(broadcast_seconds(nodes, data));
    total += rounds.back();
    const int count = static_cast<int>(rounds.size());
    goes_on = count < kLeastRounds + 1 || (count < kMostRounds && total < kEnoughSeconds) ? 1 : 0;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, nodes);
  }
  rounds.erase(rounds.begin());  // it has connected the nodes
  std::nth_element(rounds.begin(), rounds.begin() + static_cast<long>(rounds.size() / 2), rounds.end());
  return rounds[rounds.size() / 2];
}

}  // namespace

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  if (argument_count != 2) {
    std::fprintf(stderr, "usage: broadcast-times MOST_BYTES\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const size_t most_bytes = std::strtoull(arguments[1], nullptr, 10);
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> counts;
  for (int count = 3; count < size; count *= 2) counts.push_back(count);
  counts.push_back(size);
  for (const int count : counts) {
    MPI_Comm nodes = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < count ? 0 : MPI_UNDEFINED, rank, &nodes);
    if (nodes == MPI_COMM_NULL) continue;
    for (size_t bytes = 1024; bytes <= most_bytes; bytes *= 4) {
      std::vector<char> data(bytes);
      const double seconds = median_seconds(nodes, data);
      if (rank == 0) std::printf("%d %zu %.1f\n", count, bytes, seconds * 1e6);
    }
    MPI_Comm_free(&nodes);
  }
  MPI_Finalize();
  return 0;
}
