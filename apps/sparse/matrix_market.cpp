#include "matrix_market.h"

#include <fcntl.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "csr_format.h"
#include "file_io.h"

namespace apps {

namespace {

constexpr std::string_view kBanner = "%%MatrixMarket";

std::string lower_word(std::string_view& line) {
  std::string word(cut_word(line));
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return word;
}

uint64_t parse_size(const LineReader& lines, std::string_view word, uint64_t largest) {
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (word.empty() || error != std::errc() || end != word.data() + word.size() || size > largest) {
    lines.reject("the line of sizes needs rows, columns and entries, each a number of at most " +
                 std::to_string(largest) + ", not " + quote(word));
  }
  return size;
}

}  // namespace

bool is_matrix_market(const std::string& path) {
  char start[kBanner.size()];
  const size_t length = File(path, O_RDONLY).read_some_at(0, start, sizeof start);
  return std::string_view(start, length) == kBanner;
}

MatrixMarketReader::MatrixMarketReader(const std::string& path, const IndexName& row_name, const IndexName& column_name)
    : lines_(path), row_name_(row_name), column_name_(column_name) {
  read_banner();
  read_sizes();
}

void MatrixMarketReader::read_banner() {
  std::string_view line;
  if (!lines_.next(line)) {
    lines_.reject("the file is empty");
  }
  if (cut_word(line) != kBanner) {
    lines_.reject("a Matrix Market file starts with " + std::string(kBanner));
  }
  std::string object = lower_word(line);
  const std::string layout = lower_word(line);
  const std::string field = lower_word(line);
  const std::string symmetry = lower_word(line);
  if (object != "matrix" || layout != "coordinate") {
    lines_.reject("only 'matrix coordinate' can be read, not " + quote(object.append(1, ' ').append(layout)));
  }
  if (field != "pattern" && field != "real" && field != "integer") {
    lines_.reject("only pattern, real and integer matrices can be read, not " + quote(field));
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    lines_.reject("only general and symmetric matrices can be read, not " + quote(symmetry));
  }
  has_values_ = field != "pattern";
  is_symmetric_ = symmetry == "symmetric";
}

void MatrixMarketReader::read_sizes() {
  std::string_view line;
  if (!lines_.next_content(line, "%")) {
    lines_.reject("the file ends before its line of sizes");
  }
  row_count_ = parse_size(lines_, cut_word(line), kMaxRowCount);
  column_count_ = parse_size(lines_, cut_word(line), kMaxRowCount);
  entry_count_ = parse_size(lines_, cut_word(line), kMaxEntryCount / 2);
  check_line_ends(lines_, line);
  if (is_symmetric_ && row_count_ != column_count_) {
    lines_.reject("a symmetric matrix is square, this has " + std::to_string(row_count_) + " rows and " +
                  std::to_string(column_count_) + " columns");
  }
}

bool MatrixMarketReader::next(Entry& entry) {
  std::string_view line;
  const bool has_line = lines_.next_content(line, "%");
  const bool is_expected = entries_read_ < entry_count_;
  if (is_expected && !has_line) {
    lines_.reject("the file ends after " + std::to_string(entries_read_) + " of its " + std::to_string(entry_count_) +
                  " entries");
  }
  if (!is_expected && has_line) {
    lines_.reject("the file has more than its " + std::to_string(entry_count_) + " entries");
  }
  if (!has_line) {
    return false;
  }
  entry.row = parse_index(lines_, cut_word(line), row_name_, 1, row_count_);
  entry.column = parse_index(lines_, cut_word(line), column_name_, 1, column_count_);
  entry.value = has_values_ ? cut_word(line) : std::string_view();
  check_line_ends(lines_, line);
  ++entries_read_;
  return true;
}

}  // namespace apps
