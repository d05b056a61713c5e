#include "first_centroids.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "random_bits.h"
#include "row_ranges.h"
#include "unit_row.h"

namespace apps::kmeans {

// Every row draws a lot; the smallest `count` win.
std::vector<uint64_t> draw_rows(const CsrReader& matrix, uint64_t count, uint64_t seed) {
  std::vector<std::pair<uint64_t, uint64_t>> winners;  // lot and row; a heap with the largest lot in front
  uint64_t candidate_count = 0;
  for_each_row_range(matrix, 0, matrix.row_count(), [&](uint64_t row, uint64_t, uint64_t entry_count) {
    if (entry_count == 0) {
      return;
    }
    ++candidate_count;
    const std::pair lot(mix_bits(mix_bits(seed) + (row + 1) * kMixStep), row);  // + 1: row 0 draws, too
    if (winners.size() == count && winners.front() < lot) {
      return;
    }
    if (winners.size() == count) {
      std::pop_heap(winners.begin(), winners.end());
      winners.pop_back();
    }
    winners.push_back(lot);
    std::push_heap(winners.begin(), winners.end());
  });
  if (candidate_count < count) {
    throw std::runtime_error("matrix file " + matrix.path() + " has " + std::to_string(candidate_count) +
                             " rows with entries, too few for " + std::to_string(count) +
                             " clusters; ask for fewer with --clusters");
  }
  std::sort_heap(winners.begin(), winners.end());
  std::vector<uint64_t> rows;
  for (const auto& [lot, row] : winners) {
    rows.push_back(row);
  }
  return rows;
}

Centroids centroids_at(const CsrReader& matrix, const std::vector<uint64_t>& rows) {
  Centroids centroids({rows.size(), matrix.column_count()});
  centroids.allocate();
  centroids.fill_with_zeros();
  std::vector<MatrixEntry> entries;
  for (size_t cluster = 0; cluster < rows.size(); ++cluster) {
    std::array<uint64_t, 2> offsets = {};
    matrix.read_offsets(rows[cluster], offsets);
    entries.resize(offsets[1] - offsets[0]);
    matrix.read_entries<MatrixEntry>(offsets[0], entries);
    make_unit(matrix, rows[cluster], offsets[0], entries);
    for (const MatrixEntry& entry : entries) {
      centroids.of_column(entry.column)[cluster] += entry.value;
    }
  }
  return centroids;
}

}  // namespace apps::kmeans
