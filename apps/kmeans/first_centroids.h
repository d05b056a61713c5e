// The first centroids: rows that are drawn at random.
#pragma once

#include <cstdint>
#include <vector>

#include "centroids.h"
#include "csr_file.h"

namespace apps::kmeans {

// `count` different rows with entries, all choices equally likely. They depend on the file and the seed alone. Throws
// when there are too few, and what reading throws: all row offsets of the file are checked.
std::vector<uint64_t> draw_rows(const CsrReader& matrix, uint64_t count, uint64_t seed);

// Cluster i begins with the i-th of `rows`.
Centroids centroids_at(const CsrReader& matrix, const std::vector<uint64_t>& rows);

}  // namespace apps::kmeans
