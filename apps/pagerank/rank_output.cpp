#include "rank_output.h"

#include <algorithm>

#include "file_io.h"
#include "output_together.h"

namespace apps::pagerank {

std::vector<RankedVertex> gather_highest(MPI_Comm communicator, std::span<const double> ranks, uint64_t first_vertex,
                                         uint64_t count) {
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &rank_count);
  const std::vector<RankedVertex> mine = highest_ranks(ranks, first_vertex, count);
  const int bytes = static_cast<int>(mine.size() * sizeof(RankedVertex));
  std::vector<int> all_bytes(rank_count);
  MPI_Gather(&bytes, 1, MPI_INT, all_bytes.data(), 1, MPI_INT, 0, communicator);
  std::vector<int> positions(rank_count, 0);
  for (int sender = 1; sender < rank_count; ++sender) {
    positions[sender] = positions[sender - 1] + all_bytes[sender - 1];
  }
  std::vector<RankedVertex> all(rank == 0 ? (positions.back() + all_bytes.back()) / sizeof(RankedVertex) : 0);
  MPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), all_bytes.data(), positions.data(), MPI_BYTE, 0, communicator);
  std::sort(all.begin(), all.end(), is_higher);
  all.resize(std::min<uint64_t>(all.size(), count));
  return all;
}

void write_ranks(MPI_Comm communicator, const std::string& path, std::span<const double> ranks, uint64_t first_vertex,
                 uint64_t vertex_count) {
  write_together(communicator, {{path, vertex_count * sizeof(double), [&](const File& file) {
                                   file.write_at(first_vertex * sizeof(double), ranks.data(), ranks.size_bytes());
                                 }}});
}

}  // namespace apps::pagerank
