// Graphs in text files: edge lists and Matrix Market files. They are read front to back without being stored, as often
// as needed. What is wrong with one is thrown with file, line and cause.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace apps::pagerank {

enum class TextFormat { edge_list, matrix_market };

// A file whose first line starts with "%%MatrixMarket" is one.
TextFormat recognize_format(const std::string& path);

using EdgeVisitor = std::function<void(uint64_t source, uint64_t target)>;

// Edge list: lines "source target" of vertices counted from 0; a third number (a weight) is ignored, as are empty lines
// and those that start with '#' or '%'. Vertices must be below `vertex_limit`.
void read_edge_list(const std::string& path, uint64_t vertex_limit, const EdgeVisitor& visit);

// Matrix Market: square, `coordinate`, `pattern`, `real` or `integer` (values are ignored), `general` or `symmetric`.
// An entry (i, j) is an edge from i to j; of a symmetric matrix also one from j to i. `begin` is called with the
// number of vertices before the first edge.
void read_matrix_market(const std::string& path, const std::function<void(uint64_t vertex_count)>& begin,
                        const EdgeVisitor& visit);

}  // namespace apps::pagerank
