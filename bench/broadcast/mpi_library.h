// The same broadcast by an MPI library, as SimGrid's SMPI simulates it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster.h"

namespace spillway::simulation {

// Has SMPI take its implementation `algorithm` of MPI_Bcast (smpi/bcast in SimGrid's documentation): `ompi` is what
// Open MPI chooses. To be called before the cluster is made.
void configure_mpi_library(const std::string& algorithm);

// Runs the simulation. Rank i is on node order[i], and rank 0 is the root. Returns the seconds until all have the data.
double run_mpi_library(const Cluster& cluster, const std::vector<uint32_t>& order, uint64_t bytes);

}  // namespace spillway::simulation
