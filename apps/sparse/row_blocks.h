// Blocks of consecutive rows that threads make in any order, written to a CSR file as each one's place becomes known.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "csr_file.h"
#include "large_array.h"

namespace apps {

template <typename Entry>
struct RowBlock {
  uint64_t first_row = 0;
  std::vector<uint64_t> offsets;  // relative to the block's first entry; one more than rows
  LargeArray<Entry> entries;      // offsets.back() of them, or more, of which the rest is not written
};

template <typename Entry>
using MakeRowBlock = std::function<RowBlock<Entry>(uint64_t block)>;

// Block 0 has the file's first rows, each block the rows after those of the one before. Each thread holds one block in
// memory. Returns the number of entries of all blocks.
template <typename Entry>
uint64_t write_row_blocks(const CsrWriter& writer, uint64_t block_count, unsigned thread_count,
                          const MakeRowBlock<Entry>& make_block);

}  // namespace apps
