#include "sort/two_sided_messages.h"

namespace spillway::sort::two_sided {

bool test(MPI_Request& request) {
  int is_done = 0;
  MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
  return is_done != 0;
}

}  // namespace spillway::sort::two_sided
