#include "rank_grid.h"

#include <span>
#include <string>

#include "agreement.h"
#include "option_values.h"

namespace apps::sgd {

namespace {

int root_of(int square) {
  int root = 0;
  while ((root + 1) * (root + 1) <= square) {
    ++root;
  }
  return root;
}

// Adds up the counts of the ranks that have `line` in common.
void sum_over_line(MPI_Comm communicator, int line, std::span<uint64_t> counts) {
  MPI_Comm others = MPI_COMM_NULL;
  MPI_Comm_split(communicator, line, 0, &others);
  MPI_Allreduce(MPI_IN_PLACE, counts.data(), static_cast<int>(counts.size()), MPI_UINT64_T, MPI_SUM, others);
  MPI_Comm_free(&others);
}

}  // namespace

RankGrid::RankGrid(MPI_Comm communicator) : communicator_(communicator) {
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &rank_count);
  side_ = root_of(rank_count);
  if (side_ * side_ != rank_count) {
    throw UsageError(std::to_string(rank_count) + " ranks form no square of blocks; start " +
                     std::to_string(side_ * side_) + " or " + std::to_string((side_ + 1) * (side_ + 1)));
  }
  row_ = rank / side_;
  column_ = rank % side_;
}

LocalBlock cut_matrix(const RankGrid& ranks, const CsrReader& matrix) {
  LocalBlock local;
  const auto side = static_cast<uint64_t>(ranks.side());
  ColumnCounts counts(matrix.column_count());
  run_together(ranks.communicator(), [&] {
    local.grid.first_rows = cut_rows(matrix, side);
    const uint64_t first = local.grid.first_rows[ranks.row()];
    const uint64_t rows = local.grid.row_count(ranks.row());
    counts.add_rows(matrix, first + rows * ranks.column() / side, first + rows * (ranks.column() + 1) / side);
  });
  sum_over_line(ranks.communicator(), ranks.row(), counts.groups());
  ColumnCounts all = counts;
  sum_over_line(ranks.communicator(), ranks.column(), all.groups());
  local.grid.first_columns = all.cut(side);
  local.entry_count =
      counts.entries_between(local.grid.first_columns[ranks.column()], local.grid.first_columns[ranks.column() + 1]);
  return local;
}

}  // namespace apps::sgd
