#include "text_graph.h"

#include <string_view>

#include "matrix_market.h"
#include "text_lines.h"

namespace apps::pagerank {

namespace {
constexpr IndexName kVertex = {"vertex", "vertices", "two vertices are needed"};
}  // namespace

TextFormat recognize_format(const std::string& path) {
  return is_matrix_market(path) ? TextFormat::matrix_market : TextFormat::edge_list;
}

void read_edge_list(const std::string& path, uint64_t vertex_limit, const EdgeVisitor& visit) {
  LineReader reader(path);
  std::string_view line;
  while (reader.next_content(line, "#%")) {
    const uint64_t source = parse_index(reader, cut_word(line), kVertex, 0, vertex_limit);
    const uint64_t target = parse_index(reader, cut_word(line), kVertex, 0, vertex_limit);
    const std::string_view weight = cut_word(line);
    if (!weight.empty()) {
      parse_number(reader, weight);
    }
    check_line_ends(reader, line);
    visit(source, target);
  }
}

void read_matrix_market(const std::string& path, const std::function<void(uint64_t vertex_count)>& begin,
                        const EdgeVisitor& visit) {
  MatrixMarketReader matrix(path, kVertex, kVertex);
  if (matrix.row_count() != matrix.column_count()) {
    matrix.lines().reject("the matrix of a graph is square, this has " + std::to_string(matrix.row_count()) +
                          " rows and " + std::to_string(matrix.column_count()) + " columns");
  }
  begin(matrix.row_count());
  for (MatrixMarketReader::Entry entry; matrix.next(entry);) {
    if (matrix.has_values()) {
      parse_number(matrix.lines(), entry.value);
    }
    visit(entry.row, entry.column);
    if (matrix.is_symmetric() && entry.row != entry.column) {
      visit(entry.column, entry.row);
    }
  }
}

}  // namespace apps::pagerank
