#include "rank_output.h"

#include <algorithm>
#include <utility>

#include "file_io.h"
#include "output_together.h"

namespace apps::pagerank {

namespace {

constexpr int kTag = 0;
constexpr uint64_t kMostAtOnce = 1 << 24;  // the length of a message in bytes is an int

template <typename Transfer>
void for_each_piece(std::vector<RankedVertex>& list, Transfer transfer) {
  for (uint64_t done = 0; done < list.size(); done += kMostAtOnce) {
    const uint64_t piece = std::min(kMostAtOnce, list.size() - done);
    transfer(list.data() + done, static_cast<int>(piece * sizeof(RankedVertex)));
  }
}

void send_list(std::vector<RankedVertex>& list, int receiver, MPI_Comm communicator) {
  const uint64_t length = list.size();
  MPI_Send(&length, 1, MPI_UINT64_T, receiver, kTag, communicator);
  for_each_piece(list, [&](const RankedVertex* piece, int bytes) {
    MPI_Send(piece, bytes, MPI_BYTE, receiver, kTag, communicator);
  });
}

std::vector<RankedVertex> receive_list(int sender, MPI_Comm communicator) {
  uint64_t length = 0;
  MPI_Recv(&length, 1, MPI_UINT64_T, sender, kTag, communicator, MPI_STATUS_IGNORE);
  std::vector<RankedVertex> list(length);
  for_each_piece(list, [&](RankedVertex* piece, int bytes) {
    MPI_Recv(piece, bytes, MPI_BYTE, sender, kTag, communicator, MPI_STATUS_IGNORE);
  });
  return list;
}

}  // namespace

// Along a binomial tree: what a rank has at a time does not grow with their number.
std::vector<RankedVertex> gather_highest(MPI_Comm communicator, std::span<const double> ranks, uint64_t first_vertex,
                                         uint64_t count) {
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &rank_count);
  std::vector<RankedVertex> highest = highest_ranks(ranks, first_vertex, count);
  for (int distance = 1; distance < rank_count; distance *= 2) {
    if (rank % (2 * distance) != 0) {
      send_list(highest, rank - distance, communicator);
      return {};
    }
    if (rank + distance >= rank_count) {
      continue;
    }
    const std::vector<RankedVertex> others = receive_list(rank + distance, communicator);
    std::vector<RankedVertex> both(highest.size() + others.size());
    std::merge(highest.begin(), highest.end(), others.begin(), others.end(), both.begin(), is_higher);
    both.resize(std::min<uint64_t>(both.size(), count));
    highest = std::move(both);
  }
  return highest;
}

void write_ranks(MPI_Comm communicator, const std::string& path, std::span<const double> ranks, uint64_t first_vertex,
                 uint64_t vertex_count) {
  write_together(communicator, {{path, vertex_count * sizeof(double), [&](const File& file) {
                                   file.write_at(first_vertex * sizeof(double), ranks.data(), ranks.size_bytes());
                                 }}});
}

}  // namespace apps::pagerank
