#include "row_partition.h"

#include <algorithm>
#include <utility>

#include "agreement.h"

namespace pagerank {

namespace {

constexpr uint64_t kMaxGuesses = 4096;

// The first row with at least `weight` non-zeros and rows before it.
uint64_t first_row_at(const CsrReader& graph, uint64_t weight) {
  uint64_t low = 0;
  uint64_t high = graph.vertex_count();
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (graph.read_offset(middle) + middle < weight) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

RowPartition RowPartition::balanced(MPI_Comm communicator, const CsrReader& graph) {
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &rank_count);
  uint64_t mine = 0;
  run_together(communicator, [&] {
    const uint64_t total = graph.edge_count() + graph.vertex_count();
    mine = first_row_at(graph, total / rank_count * rank + total % rank_count * rank / rank_count);
  });
  std::vector<uint64_t> first_rows(rank_count + 1);
  MPI_Allgather(&mine, 1, MPI_UINT64_T, first_rows.data(), 1, MPI_UINT64_T, communicator);
  first_rows.front() = 0;
  first_rows.back() = graph.vertex_count();
  for (int other = 1; other < rank_count; ++other) {
    first_rows[other] = std::max(first_rows[other], first_rows[other - 1]);
  }
  return RowPartition(std::move(first_rows));
}

RowPartition::RowPartition(std::vector<uint64_t> first_rows) : first_rows_(std::move(first_rows)) {
  const uint64_t rows = first_rows_.back();
  while (rows >> guess_shift_ >= kMaxGuesses) {
    ++guess_shift_;
  }
  int owner = 0;
  for (uint64_t row = 0; row < rows; row += uint64_t{1} << guess_shift_) {
    while (row >= first_rows_[owner + 1]) {
      ++owner;
    }
    guesses_.push_back(owner);
  }
}

}  // namespace pagerank
