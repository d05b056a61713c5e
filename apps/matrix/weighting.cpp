#include "weighting.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "large_array.h"

namespace apps::matrix {

namespace {

constexpr uint64_t kGroupRows = uint64_t{1} << 14;
constexpr uint64_t kGroupEntries = uint64_t{1} << 20;

// Consecutive rows: row first_row + i is entries [offsets[i], offsets[i + 1]) less offsets[0].
struct RowGroup {
  uint64_t first_row = 0;
  std::vector<uint64_t> offsets;
  std::vector<MatrixEntry> entries;

  [[nodiscard]] size_t row_count() const { return offsets.size() - 1; }
  std::span<MatrixEntry> row(size_t index) {
    return std::span(entries).subspan(offsets[index] - offsets[0], offsets[index + 1] - offsets[index]);
  }
};

// Reads the rows after those of the last call; false when there are no more.
bool read_next_rows(const CsrWriter& file, RowGroup& group) {
  group.first_row += group.offsets.empty() ? 0 : group.row_count();
  const uint64_t rows_left = file.shape().row_count - group.first_row;
  if (rows_left == 0) {
    return false;
  }
  std::vector<uint64_t>& offsets = group.offsets;
  offsets.resize(std::min(rows_left, kGroupRows) + 1);
  file.read_offsets(group.first_row, offsets);
  const auto end = std::upper_bound(offsets.begin(), offsets.end(), offsets[0] + kGroupEntries);
  offsets.resize(std::max<size_t>(end - offsets.begin(), 2));
  group.entries.resize(offsets.back() - offsets[0]);
  file.read_entries(offsets[0], std::span(group.entries));
  return true;
}

LargeArray<double> zeros_for_columns(uint64_t column_count) {
  try {
    return {column_count, 0.0};
  } catch (const std::bad_alloc&) {
    throw std::runtime_error("not enough memory for tf-idf, which needs 8 bytes for each of " +
                             std::to_string(column_count) + " columns; use fewer columns or more memory");
  }
}

// Counted as doubles, which are exact for these numbers, so that the weights need no second array.
LargeArray<double> inverse_document_frequencies(const CsrWriter& file) {
  const auto row_count = static_cast<double>(file.shape().row_count);
  LargeArray<double> weights = zeros_for_columns(file.shape().column_count);
  for (RowGroup group; read_next_rows(file, group);) {
    for (const MatrixEntry& entry : group.entries) {
      ++weights[entry.column];
    }
  }
  for (double& weight : weights) {
    weight = weight == 0 ? 0 : std::log(row_count / weight);
  }
  return weights;
}

template <typename WeightOf>
void weigh_row(const CsrWriter& file, std::span<MatrixEntry> row, uint64_t row_number, bool is_normalized,
               const WeightOf& weight_of) {
  double length = 1;
  if (is_normalized) {
    double squares = 0;
    for (const MatrixEntry& entry : row) {
      const double weighted = entry.value * weight_of(entry.column);
      squares += weighted * weighted;
    }
    length = squares == 0 ? 1 : std::sqrt(squares);
  }
  for (MatrixEntry& entry : row) {
    entry.value = static_cast<float>(entry.value * weight_of(entry.column) / length);
    if (!std::isfinite(entry.value)) {
      file.reject_value("the weighted value", row_number, entry.column);
    }
  }
}

template <typename WeightOf>
void weigh_rows(const CsrWriter& file, bool is_normalized, const WeightOf& weight_of) {
  for (RowGroup group; read_next_rows(file, group);) {
    for (size_t row = 0; row < group.row_count(); ++row) {
      weigh_row(file, group.row(row), group.first_row + row, is_normalized, weight_of);
    }
    file.write_entries(group.offsets[0], std::span<const MatrixEntry>(group.entries));
  }
}

}  // namespace

void weigh_values(const CsrWriter& file, const Weighting& weighting) {
  if (weighting.is_tf_idf) {
    const LargeArray<double> weights = inverse_document_frequencies(file);
    weigh_rows(file, weighting.has_normalized_rows, [&](uint32_t column) { return weights[column]; });
  } else if (weighting.has_normalized_rows) {
    weigh_rows(file, true, [](uint32_t) { return 1.0; });
  }
}

}  // namespace apps::matrix
