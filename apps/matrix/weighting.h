// What is made of a matrix's values once all of its rows are written.
#pragma once

#include "csr_file.h"

namespace apps::matrix {

struct Weighting {
  bool is_tf_idf = false;            // value * log(rows / rows that have an entry in the column)
  bool has_normalized_rows = false;  // then each row is divided by its Euclidean length, unless that is 0
};

// REQUIRES: `file` is a matrix with values, complete but for its header. Rewrites its values in one pass or, for
// tf-idf, two. Needs the memory of some 1 Mi entries (or the longest row) and for tf-idf 8 bytes for each column.
// Throws when a weighted value does not fit in 32 bits.
void weigh_values(const CsrWriter& file, const Weighting& weighting);

}  // namespace apps::matrix
