// A broadcast of any size.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace spillway::keyvalue {

inline void broadcast_bytes(MPI_Comm communicator, int root, std::string& bytes) {
  constexpr uint64_t kMostBytes = uint64_t{1} << 30;  // of one call of MPI
  uint64_t size = bytes.size();
  MPI_Bcast(&size, 1, MPI_UINT64_T, root, communicator);
  bytes.resize(size);
  for (uint64_t done = 0; done < size; done += kMostBytes)
    MPI_Bcast(bytes.data() + done, static_cast<int>(std::min(kMostBytes, size - done)), MPI_BYTE, root, communicator);
}

}  // namespace spillway::keyvalue
