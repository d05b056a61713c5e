// The ranks as a square, one for each block of the matrix: rank i * side + j has block (i, j).
#pragma once

#include <mpi.h>

#include <cstdint>

#include "block_grid.h"
#include "csr_file.h"

namespace apps::sgd {

class RankGrid {
 public:
  // Throws UsageError unless the number of ranks is a square.
  explicit RankGrid(MPI_Comm communicator);

  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }
  [[nodiscard]] int rank() const { return row_ * side_ + column_; }
  [[nodiscard]] int rank_count() const { return side_ * side_; }
  [[nodiscard]] int side() const { return side_; }
  [[nodiscard]] int row() const { return row_; }
  [[nodiscard]] int column() const { return column_; }
  // The rank that many places further; beyond an edge it goes on at the opposite one.
  [[nodiscard]] int rank_at(int rows_down, int columns_right) const {
    return (row_ + rows_down + side_) % side_ * side_ + (column_ + columns_right + side_) % side_;
  }

 private:
  MPI_Comm communicator_;
  int side_;
  int row_;
  int column_;
};

struct LocalBlock {
  BlockGrid grid;            // the same on all ranks
  uint64_t entry_count = 0;  // of this rank's block
};

// Collective. Each rank counts the columns of a part of its row of blocks; all learn where the columns are cut.
LocalBlock cut_matrix(const RankGrid& ranks, const CsrReader& matrix);

}  // namespace apps::sgd
