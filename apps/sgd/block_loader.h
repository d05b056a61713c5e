// Reads one block of the matrix from its file.
#pragma once

#include <cstdint>

#include "block.h"
#include "block_grid.h"
#include "csr_file.h"

namespace apps::sgd {

// Reads all rows of the block and keeps what lies in its columns, in the file's order. `entry_count` is what
// ColumnCounts has found; throws when the file has changed since.
Block load_block(const CsrReader& matrix, const BlockGrid& grid, uint64_t row_part, uint64_t column_part, Order order,
                 uint64_t entry_count);

}  // namespace apps::sgd
