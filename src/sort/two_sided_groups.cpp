#include "sort/two_sided_groups.h"

#include "sort/failure.h"

namespace spillway::sort {
namespace {

MPI_Comm split(bool is_in) {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, is_in ? 0 : MPI_UNDEFINED, process, &part);
  return part;
}

}  // namespace

TwoSidedGroups TwoSidedGroups::make(int readers) {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  TwoSidedGroups groups{};
  groups.readers = readers;
  const bool is_reader = process < readers;
  groups.read = split(is_reader);
  int of_node = 0;
  int sorters = 1;
  if (MPI_Comm sort = split(!is_reader); sort != MPI_COMM_NULL) {
    MPI_Comm_split_type(sort, MPI_COMM_TYPE_SHARED, process, MPI_INFO_NULL, &groups.node);
    MPI_Comm_free(&sort);
    MPI_Comm_rank(groups.node, &of_node);
    MPI_Comm_size(groups.node, &sorters);
    --sorters;
  }
  MPI_Allreduce(MPI_IN_PLACE, &sorters, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (readers == 0 || sorters == 0)
    throw UsageFailure(
        "two-sided delivery has processes that only read, and on each node one that only receives beside others",
        "use --readers, and more processes (-n): at least 3, as in -n 3 --readers 1");
  groups.part = is_reader ? Part::reader : of_node == 0 ? Part::receiver : Part::sorter;
  groups.transfer = split(groups.part != Part::sorter);
  return groups;
}

void TwoSidedGroups::free() {
  for (MPI_Comm* communicator : {&read, &transfer, &node})
    if (*communicator != MPI_COMM_NULL) MPI_Comm_free(communicator);
}

}  // namespace spillway::sort
