// Packing by the MPI library, with what its calls leave out: elements of more than 2 GiB, and MPI_BOTTOM.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

namespace spillway::mpi {

// Copies `count` elements at `address`, `bytes` of data in all, to `out`, and back. Either the data is not more than 2
// GiB or `count` is 1.
void pack_elements(void* address, int count, MPI_Datatype type, std::byte* out, uint64_t bytes);
void unpack_elements(const std::byte* in, uint64_t bytes, void* address, int count, MPI_Datatype type);

}  // namespace spillway::mpi
