// Cutting the rows of a matrix into parts of consecutive ones, balanced by non-zeros. A row counts as one non-zero more
// than it has: what goes with it costs about as much, and matrices with few or no entries are cut as well.
#pragma once

#include <cstdint>

#include "csr_file.h"

namespace apps {

// The weight before part `part`, of `total` in all.
uint64_t weight_before(uint64_t part, uint64_t part_count, uint64_t total);

// Found by bisection in the file's row offsets, so that nobody reads them all. Those that go backwards give rows that
// are in the file, if not in order.
uint64_t first_row_of_part(const CsrReader& matrix, uint64_t part, uint64_t part_count);

}  // namespace apps
