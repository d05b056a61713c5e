#include "text_graph.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "csr_format.h"
#include "text_lines.h"

namespace pagerank {

namespace {

constexpr std::string_view kBanner = "%%MatrixMarket";

std::string quote(std::string_view word) { return std::string(1, '\'').append(word).append(1, '\''); }

// A vertex in [first, first + vertex_count), returned as counted from 0.
uint64_t parse_vertex(const LineReader& reader, std::string_view word, uint64_t first, uint64_t vertex_count) {
  if (word.empty()) {
    reader.reject("two vertices are needed");
  }
  if (word.size() > 1 && word[0] == '-' && std::isdigit(static_cast<unsigned char>(word[1])) != 0) {
    reader.reject("negative vertex " + quote(word));
  }
  uint64_t vertex = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), vertex);
  if (error == std::errc::invalid_argument || end != word.data() + word.size()) {
    reader.reject(quote(word) + " is not a vertex");
  }
  if (error != std::errc() || vertex < first || vertex - first >= vertex_count) {
    reader.reject("vertex " + quote(word) + " is out of range: vertices are " + std::to_string(first) + " to " +
                  std::to_string(first + vertex_count - 1));
  }
  return vertex - first;
}

void check_number(const LineReader& reader, std::string_view word) {
  double value = 0;
  const std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size()) {
    reader.reject(quote(word) + " is not a number");
  }
}

void check_line_ends(const LineReader& reader, std::string_view rest) {
  const std::string_view word = cut_word(rest);
  if (!word.empty()) {
    reader.reject("unexpected " + quote(word));
  }
}

std::string lower_word(std::string_view& line) {
  std::string word(cut_word(line));
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return word;
}

struct MatrixHeader {
  bool has_values = false;
  bool is_symmetric = false;
  uint64_t vertex_count = 0;
  uint64_t entry_count = 0;
};

void parse_banner(const LineReader& reader, std::string_view line, MatrixHeader& header) {
  if (cut_word(line) != kBanner) {
    reader.reject("a Matrix Market file starts with " + std::string(kBanner));
  }
  std::string object = lower_word(line);
  const std::string layout = lower_word(line);
  const std::string field = lower_word(line);
  const std::string symmetry = lower_word(line);
  if (object != "matrix" || layout != "coordinate") {
    reader.reject("only 'matrix coordinate' can be a graph, not " + quote(object.append(1, ' ').append(layout)));
  }
  if (field != "pattern" && field != "real" && field != "integer") {
    reader.reject("only pattern, real and integer matrices can be read, not " + quote(field));
  }
  if (symmetry != "general" && symmetry != "symmetric") {
    reader.reject("only general and symmetric matrices can be read, not " + quote(symmetry));
  }
  header.has_values = field != "pattern";
  header.is_symmetric = symmetry == "symmetric";
}

uint64_t parse_size(const LineReader& reader, std::string_view word, uint64_t largest) {
  uint64_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (word.empty() || error != std::errc() || end != word.data() + word.size() || size > largest) {
    reader.reject("the line of sizes needs rows, columns and entries, each a number of at most " +
                  std::to_string(largest) + ", not " + quote(word));
  }
  return size;
}

// Advances to the next line that is not a comment and not empty.
bool next_content(LineReader& reader, std::string_view& line, std::string_view comment_marks) {
  while (reader.next(line)) {
    std::string_view rest = line;
    const std::string_view word = cut_word(rest);
    if (!word.empty() && comment_marks.find(word[0]) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

MatrixHeader read_matrix_header(LineReader& reader) {
  MatrixHeader header;
  std::string_view line;
  if (!reader.next(line)) {
    reader.reject("the file is empty");
  }
  parse_banner(reader, line, header);
  if (!next_content(reader, line, "%")) {
    reader.reject("the file ends before its line of sizes");
  }
  header.vertex_count = parse_size(reader, cut_word(line), kMaxVertexCount);
  const uint64_t column_count = parse_size(reader, cut_word(line), kMaxVertexCount);
  header.entry_count = parse_size(reader, cut_word(line), kMaxEdgeCount / 2);
  check_line_ends(reader, line);
  if (column_count != header.vertex_count) {
    reader.reject("the matrix of a graph is square, this has " + std::to_string(header.vertex_count) + " rows and " +
                  std::to_string(column_count) + " columns");
  }
  return header;
}

}  // namespace

TextFormat recognize_format(const std::string& path) {
  LineReader reader(path);
  std::string_view line;
  return reader.next(line) && line.starts_with(kBanner) ? TextFormat::matrix_market : TextFormat::edge_list;
}

void read_edge_list(const std::string& path, uint64_t vertex_limit, const EdgeVisitor& visit) {
  LineReader reader(path);
  std::string_view line;
  while (next_content(reader, line, "#%")) {
    const uint64_t source = parse_vertex(reader, cut_word(line), 0, vertex_limit);
    const uint64_t target = parse_vertex(reader, cut_word(line), 0, vertex_limit);
    const std::string_view weight = cut_word(line);
    if (!weight.empty()) {
      check_number(reader, weight);
    }
    check_line_ends(reader, line);
    visit(source, target);
  }
}

void read_matrix_market(const std::string& path, const std::function<void(uint64_t vertex_count)>& begin,
                        const EdgeVisitor& visit) {
  LineReader reader(path);
  const MatrixHeader header = read_matrix_header(reader);
  begin(header.vertex_count);
  std::string_view line;
  for (uint64_t entry = 0; entry < header.entry_count; ++entry) {
    if (!next_content(reader, line, "%")) {
      reader.reject("the file ends after " + std::to_string(entry) + " of its " + std::to_string(header.entry_count) +
                    " entries");
    }
    const uint64_t row = parse_vertex(reader, cut_word(line), 1, header.vertex_count);
    const uint64_t column = parse_vertex(reader, cut_word(line), 1, header.vertex_count);
    if (header.has_values) {
      check_number(reader, cut_word(line));
    }
    check_line_ends(reader, line);
    visit(row, column);
    if (header.is_symmetric && row != column) {
      visit(column, row);
    }
  }
  if (next_content(reader, line, "%")) {
    reader.reject("the file has more than its " + std::to_string(header.entry_count) + " entries");
  }
}

}  // namespace pagerank
