#include "sort/shared_text.h"

#include <cstdint>

namespace spillway::sort {

std::string share(MPI_Comm processes, std::string text) {
  uint64_t bytes = text.size();
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, processes);
  text.resize(bytes);
  MPI_Bcast(text.data(), static_cast<int>(bytes), MPI_BYTE, 0, processes);
  return text;
}

}  // namespace spillway::sort
