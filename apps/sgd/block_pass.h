// Passes over all blocks, in as many steps as the square of ranks is wide. In step s ranks (i, i + s) work, so no two
// need the same factors. The factors travel: those of row part i along row i of the square, to the right, those of
// column part j up column j. A rank has factors only from the message that brings them to the one that takes them on.
//
//   step 0   rank (i, i) has both of its segments: the starting values, or what has come back from the last step
//   step s   rank (i, i + s) receives the rows' factors from its left and the columns' from below, works, and sends
//   them
//            on, to the right and up; after the last step both are where the next pass begins
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

#include "block.h"
#include "block_grid.h"
#include "block_place.h"
#include "factor_model.h"
#include "large_array.h"
#include "rank_grid.h"

namespace apps::sgd {

class BlockPass {
 public:
  // All but `model` must outlive it.
  BlockPass(const RankGrid& ranks, const BlockGrid& grid, BlockPlace& place, const Model& model);

  // Collective: each rating is taken once.
  void iterate();
  // Collective: the root mean square error of all ratings, on all ranks the same.
  [[nodiscard]] double error(uint64_t entry_count);

  [[nodiscard]] uint64_t iteration_count() const { return iteration_count_; }
  // Between passes: the factors of row part and column part row() = column(), on the diagonal; else empty.
  [[nodiscard]] bool has_factors() const { return ranks_.row() == ranks_.column(); }
  [[nodiscard]] std::span<const float> row_factors() const { return row_factors_; }
  [[nodiscard]] std::span<const float> column_factors() const { return column_factors_; }

 private:
  template <typename Work>
  void pass(const Work& work);
  void receive_factors();
  void send_factors();

  const RankGrid& ranks_;
  BlockPlace& place_;
  const Model model_;
  const uint64_t row_values_;  // floats in this rank's segments, when it has them
  const uint64_t column_values_;
  LargeArray<float> row_factors_;
  LargeArray<float> column_factors_;
  uint64_t iteration_count_ = 0;
};

}  // namespace apps::sgd
