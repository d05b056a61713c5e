#include "row_partition.h"

#include <algorithm>
#include <utility>

#include "agreement.h"
#include "row_cut.h"

namespace apps {

namespace {

constexpr uint64_t kMaxGuesses = 4096;

}  // namespace

RowPartition RowPartition::balanced(MPI_Comm communicator, const CsrReader& matrix) {
  int rank = 0;
  int rank_count = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &rank_count);
  uint64_t mine = 0;
  run_together(communicator, [&] { mine = first_row_of_part(matrix, rank, rank_count); });
  std::vector<uint64_t> first_rows(rank_count + 1);
  MPI_Allgather(&mine, 1, MPI_UINT64_T, first_rows.data(), 1, MPI_UINT64_T, communicator);
  first_rows.front() = 0;
  first_rows.back() = matrix.row_count();
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

}  // namespace apps
