// Matrices with values in text files: Matrix Market and SVMlight. They are read front to back without being stored, as
// often as needed. What is wrong with one is thrown with file, line and cause.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "csr_format.h"

namespace apps::matrix {

enum class TextFormat { matrix_market, svmlight };

// A file whose first line starts with "%%MatrixMarket" is one, any other is SVMlight's.
TextFormat recognize_format(const std::string& path);

// Rows and columns are counted from 0. Values are finite.
using EntryVisitor = std::function<void(uint64_t row, MatrixEntry entry)>;

// Matrix Market: `coordinate`, `pattern` (every value is 1), `real` or `integer`, `general` or `symmetric` (an entry
// beside the diagonal is visited on both sides of it). `begin` is called with the matrix's size before the first entry.
void read_matrix_market(const std::string& path,
                        const std::function<void(uint64_t row_count, uint64_t column_count)>& begin,
                        const EntryVisitor& visit);

// SVMlight: a line "label index:value index:value ... # comment" for each row, in any order of indices; the label and
// pairs "qid:..." are ignored, as are lines that are empty or start with '#'. Indices are counted from `first_index`, 0
// or 1, and must give columns below `column_limit`. Lines of more than 64 MiB are refused. Returns the number of rows.
uint64_t read_svmlight(const std::string& path, uint64_t first_index, uint64_t column_limit, const EntryVisitor& visit);

}  // namespace apps::matrix
