// Matrix factorization by stochastic gradient descent: starting values, the update of a rating, and the order in which
// a block's ratings are taken. apps/README.md specifies all of it; tests/apps/sgd_oracle.py is that in Python.
//
// The factors of a part of the rows (a segment) are an array, row by row; those of columns likewise.
#pragma once

#include <cstdint>
#include <span>

#include "block.h"
#include "random_numbers.h"

namespace apps::sgd {

struct Model {
  uint64_t factors = 20;
  Order order = Order::elements;
  double rate = 0.01;
  double decay = 0.95;
  double lambda = 0.02;
  uint64_t seed = 1;
};

// Of rows (or columns) first_row ..., as many as fit. `purpose` says which of the two.
void fill_starting_values(const Model& model, Purpose purpose, uint64_t first_row, std::span<float> into);

// One visit of a block: its number is row part * side + column part.
struct Visit {
  uint64_t iteration;  // counted from 0
  uint64_t block_number;
};

// Takes each rating of the block once, and changes the factors of its row and its column.
void update_factors(const Model& model, Visit visit, const Block& block, std::span<float> row_factors,
                    std::span<float> column_factors);

// The sum over the block's ratings, in the order in which they are stored.
double squared_error(const Model& model, const Block& block, std::span<const float> row_factors,
                     std::span<const float> column_factors);

// Of sums by block, in order of their numbers; 0 for a matrix without entries.
double root_mean_square(std::span<const double> squared_errors, uint64_t entry_count);

}  // namespace apps::sgd
