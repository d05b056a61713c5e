#include "factor_output.h"

#include <span>

#include "file_io.h"
#include "output_together.h"

namespace apps::sgd {

namespace {

// Of rows or columns; `mine` are those from first_row, or none.
Output factor_output(const std::string& path, uint64_t row_count, uint64_t factors, uint64_t first_row,
                     std::span<const float> mine) {
  const uint64_t row_bytes = factors * sizeof(float);
  return {path, row_count * row_bytes,
          [=](const File& file) { file.write_at(first_row * row_bytes, mine.data(), mine.size_bytes()); }};
}

}  // namespace

void write_factors(const RankGrid& ranks, const BlockGrid& grid, const BlockPass& pass, uint64_t factors,
                   const std::string& prefix) {
  write_together(ranks.communicator(), {factor_output(prefix + ".u", grid.first_rows.back(), factors,
                                                      grid.first_rows[ranks.row()], pass.row_factors()),
                                        factor_output(prefix + ".v", grid.first_columns.back(), factors,
                                                      grid.first_columns[ranks.column()], pass.column_factors())});
}

}  // namespace apps::sgd
