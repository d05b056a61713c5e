#include "unit_row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace apps::kmeans {

namespace {

bool is_ascending(std::span<const MatrixEntry> entries) {
  bool ascending = true;  // without an early exit the loop is vectorized
  for (size_t i = 1; i < entries.size(); ++i) {
    ascending &= entries[i - 1].column < entries[i].column;
  }
  return ascending;
}

void add_up_repeated(std::span<MatrixEntry> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](const MatrixEntry& left, const MatrixEntry& right) { return left.column < right.column; });
  MatrixEntry* first = entries.data();
  for (MatrixEntry& entry : entries.subspan(1)) {
    if (entry.column == first->column) {
      first->value += entry.value;
      entry.value = 0;
    } else {
      first = &entry;
    }
  }
}

// Four sums, as the additions to one would wait for each other.
double squared_length(std::span<const MatrixEntry> entries) {
  constexpr size_t kSums = 4;
  std::array<double, kSums> sums = {};
  const auto add = [&](size_t sum, float value) { sums[sum] += static_cast<double>(value) * value; };
  size_t done = 0;
  for (; done + kSums <= entries.size(); done += kSums) {
    for (size_t sum = 0; sum < kSums; ++sum) {
      add(sum, entries[done + sum].value);
    }
  }
  for (; done < entries.size(); ++done) {
    add(done % kSums, entries[done].value);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

void make_unit(const CsrReader& matrix, uint64_t row, uint64_t first_entry, std::span<MatrixEntry> entries) {
  matrix.check_columns<MatrixEntry>(first_entry, entries);
  if (!is_ascending(entries)) {
    add_up_repeated(entries);
  }
  const double length = std::sqrt(squared_length(entries));
  if (!std::isfinite(length)) {
    throw std::runtime_error("matrix file " + matrix.path() + " has values in row " + std::to_string(row) +
                             " that are not finite, or too large to add up; write it anew with " + kMatrixKind.tools);
  }
  if (length > 0) {
    const double factor = 1 / length;
    for (MatrixEntry& entry : entries) {
      entry.value = static_cast<float>(entry.value * factor);
    }
  }
}

}  // namespace apps::kmeans
