#include "row_cut.h"

namespace apps {

uint64_t weight_before(uint64_t part, uint64_t part_count, uint64_t total) {
  return total / part_count * part + total % part_count * part / part_count;
}

uint64_t first_row_of_part(const CsrReader& matrix, uint64_t part, uint64_t part_count) {
  const uint64_t weight = weight_before(part, part_count, matrix.entry_count() + matrix.row_count());
  uint64_t low = 0;
  uint64_t high = matrix.row_count();
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (matrix.read_offset(middle) + middle < weight) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace apps
