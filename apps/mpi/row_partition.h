// Which rank owns which rows: consecutive rows, balanced by non-zeros.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "csr_file.h"

namespace apps {

class RowPartition {
 public:
  // Collective; the same on all ranks, and cut as row_cut.h says. Row offsets that go backwards give a partition that
  // is valid, if uneven.
  static RowPartition balanced(MPI_Comm communicator, const CsrReader& matrix);

  [[nodiscard]] int rank_count() const { return static_cast<int>(first_rows_.size()) - 1; }
  [[nodiscard]] uint64_t first_row(int rank) const { return first_rows_[rank]; }
  [[nodiscard]] uint64_t row_count(int rank) const { return first_rows_[rank + 1] - first_rows_[rank]; }
  [[nodiscard]] int owner_of(uint64_t row) const {
    int owner = guesses_[row >> guess_shift_];
    while (row >= first_rows_[owner + 1]) {
      ++owner;
    }
    return owner;
  }

 private:
  explicit RowPartition(std::vector<uint64_t> first_rows);

  std::vector<uint64_t> first_rows_;
  // Owner of the first row of each block of 2^guess_shift_ rows. Looked up for every edge, so it must stay in cache.
  std::vector<int> guesses_;
  unsigned guess_shift_ = 0;
};

}  // namespace apps
