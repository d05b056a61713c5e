// The files of factors that a run leaves behind.
#pragma once

#include <string>

#include "block_grid.h"
#include "block_pass.h"
#include "rank_grid.h"

namespace apps::sgd {

// Collective. PREFIX.u has the factors of all rows, PREFIX.v those of all columns: little-endian floats, row by row.
// Each rank writes those that it has.
void write_factors(const RankGrid& ranks, const BlockGrid& grid, const BlockPass& pass, uint64_t factors,
                   const std::string& prefix);

}  // namespace apps::sgd
