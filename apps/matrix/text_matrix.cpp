#include "text_matrix.h"

#include <cmath>
#include <string_view>

#include "matrix_market.h"
#include "text_lines.h"

namespace apps::matrix {

namespace {

constexpr IndexName kRow = {"row", "rows", "a row and a column are needed"};
constexpr IndexName kColumn = {"column", "columns", "a row and a column are needed"};
constexpr IndexName kIndex = {"column", "columns", "an index is needed before the ':'"};
// Some four million entries.
constexpr LineLimit kSvmlightLine = {size_t{64} << 20, "rows that long can be read from Matrix Market files only"};

float parse_value(const LineReader& lines, std::string_view word) {
  const auto value = static_cast<float>(parse_number(lines, word));
  if (!std::isfinite(value)) {
    lines.reject("the value " + quote(word) + " is not finite, or too large for 32 bits");
  }
  return value;
}

struct SvmlightIndices {
  uint64_t first;
  uint64_t count;
};

MatrixEntry parse_pair(const LineReader& lines, std::string_view pair, const SvmlightIndices& indices) {
  const size_t colon = pair.find(':');
  if (colon == std::string_view::npos) {
    lines.reject(quote(pair) + " is not of the form index:value");
  }
  const std::string_view index = pair.substr(0, colon);
  if (index == "0" && indices.first == 1) {
    lines.reject("column '0' is out of range: columns are counted from 1, or from 0 with --zero-based");
  }
  const uint64_t column = parse_index(lines, index, kIndex, indices.first, indices.count);
  return {static_cast<uint32_t>(column), parse_value(lines, pair.substr(colon + 1))};
}

void read_svmlight_row(const LineReader& lines, std::string_view line, const SvmlightIndices& indices, uint64_t row,
                       const EntryVisitor& visit) {
  const std::string_view label = cut_word(line);
  if (label.find(':') != std::string_view::npos) {
    lines.reject("a line starts with a label, not with " + quote(label));
  }
  parse_number(lines, label);
  for (std::string_view word = cut_word(line); !word.empty(); word = cut_word(line)) {
    if (!word.starts_with("qid:")) {
      visit(row, parse_pair(lines, word, indices));
    }
  }
}

}  // namespace

TextFormat recognize_format(const std::string& path) {
  return is_matrix_market(path) ? TextFormat::matrix_market : TextFormat::svmlight;
}

void read_matrix_market(const std::string& path,
                        const std::function<void(uint64_t row_count, uint64_t column_count)>& begin,
                        const EntryVisitor& visit) {
  MatrixMarketReader matrix(path, kRow, kColumn);
  begin(matrix.row_count(), matrix.column_count());
  for (MatrixMarketReader::Entry entry; matrix.next(entry);) {
    const float value = matrix.has_values() ? parse_value(matrix.lines(), entry.value) : 1;
    visit(entry.row, {static_cast<uint32_t>(entry.column), value});
    if (matrix.is_symmetric() && entry.row != entry.column) {
      visit(entry.column, {static_cast<uint32_t>(entry.row), value});
    }
  }
}

uint64_t read_svmlight(const std::string& path, uint64_t first_index, uint64_t column_limit,
                       const EntryVisitor& visit) {
  LineReader lines(path, kSvmlightLine);
  uint64_t row = 0;
  for (std::string_view line; lines.next_content(line, "#"); ++row) {
    if (row == kMaxRowCount) {
      lines.reject("the format holds at most " + std::to_string(kMaxRowCount) + " rows");
    }
    read_svmlight_row(lines, line.substr(0, line.find('#')), {first_index, column_limit}, row, visit);
  }
  return row;
}

}  // namespace apps::matrix
