// Windows' fences in the MPI library, one after the other; rank 0 says how many microseconds each took.
#include <cstdio>

#include "checked_program.h"

int main(int argc, char** argv) {
  CheckedProgram program(&argc, &argv);
  constexpr int kFences = 300;
  std::vector<int> received(2, 0);  // by turns: the left one may be one fence ahead
  MPI_Win window;
  MPI_Win_create(received.data(), static_cast<MPI_Aint>(received.size() * sizeof(int)), sizeof(int), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  const double begin = MPI_Wtime();
  for (int fence = 1; fence <= kFences; ++fence) {
    MPI_Put(&fence, 1, MPI_INT, program.right(), fence % 2, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    program.equal(received[static_cast<size_t>(fence % 2)], fence);
  }
  if (program.rank() == 0) std::printf("%.0f microseconds\n", (MPI_Wtime() - begin) / kFences * 1e6);
  MPI_Win_free(&window);
  return program.finish();
}
