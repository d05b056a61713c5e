// Rows as points of the unit sphere: scaled to length 1, every column at most once.
#pragma once

#include <cstdint>
#include <span>

#include "csr_file.h"

namespace apps::kmeans {

// Checks the entries of row `row`, which are the file's first_entry ..., and scales them to length 1; all zeros stay.
// Values of a column that repeats are added up in one of its entries, and the others become 0: so the row keeps its
// place, and no value exceeds 1, on which ClusterSums relies. Throws for a column out of range and for values that are
// not finite.
void make_unit(const CsrReader& matrix, uint64_t row, uint64_t first_entry, std::span<MatrixEntry> entries);

}  // namespace apps::kmeans
