// What a run leaves behind: the ranks in a file, and a list of the highest.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "highest_ranks.h"

namespace apps::pagerank {

// Collective. The `count` highest of all ranks, on rank 0.
std::vector<RankedVertex> gather_highest(MPI_Comm communicator, std::span<const double> ranks, uint64_t first_vertex,
                                         uint64_t count);

// Collective. The file has one little-endian double for each vertex, in order of vertices; each rank writes its own.
void write_ranks(MPI_Comm communicator, const std::string& path, std::span<const double> ranks, uint64_t first_vertex,
                 uint64_t vertex_count);

}  // namespace apps::pagerank
