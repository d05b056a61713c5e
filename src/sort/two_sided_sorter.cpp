#include "sort/two_sided_sorter.h"

#include <mpi.h>

#include "base/clock.h"
#include "sort/pause.h"

namespace spillway::sort {

void TwoSidedSorter::run() {
  for (two_sided::Full full = next(); full.slot != two_sided::kNoMore; full = next()) {
    dealer_.deal_out(slots_[full.slot], plan_.block(full.block));
    MPI_Send(&full.slot, 1, MPI_UINT64_T, 0, two_sided::kEmptyTag, groups_.node);
  }
}

two_sided::Full TwoSidedSorter::next() {
  two_sided::Full full{};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&full, two_sided::kFullWords, MPI_UINT64_T, 0, two_sided::kFullTag, groups_.node, &request);
  io_.progress();
  if (two_sided::test(request)) return full;
  const uint64_t begin = base::now_ns();
  for (Pause pause; !two_sided::test(request); io_.progress()) pause.take();
  waited_ns_ += base::now_ns() - begin;
  return full;
}

}  // namespace spillway::sort
