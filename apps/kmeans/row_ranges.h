// Where rows are among the entries of their file, without all row offsets in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "csr_file.h"

namespace apps::kmeans {

// Calls visit(row, first_entry, entry_count) for rows first_row, ... in order. Throws for wrong offsets.
template <typename Visit>
void for_each_row_range(const CsrReader& matrix, uint64_t first_row, uint64_t row_count, const Visit& visit) {
  constexpr uint64_t kRowsAtOnce = uint64_t{1} << 16;
  std::vector<uint64_t> offsets;
  for (uint64_t done = 0; done < row_count; done += kRowsAtOnce) {
    const uint64_t first = first_row + done;
    offsets.resize(std::min(row_count - done, kRowsAtOnce) + 1);
    matrix.read_offsets(first, offsets);
    matrix.check_offsets(first, offsets);
    for (uint64_t i = 0; i + 1 < offsets.size(); ++i) {
      visit(first + i, offsets[i], offsets[i + 1] - offsets[i]);
    }
  }
}

}  // namespace apps::kmeans
