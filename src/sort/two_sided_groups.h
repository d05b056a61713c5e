// Who does what where blocks are delivered by messages of two sides, as the paper's existing design has it
// (hybrid-sort.txt, section 3.1): the first processes read (READ_COMM), and the others are the sort group, of which one
// process of each node only receives; readers and receivers are XFER_COMM. The other processes of a node are its part
// of the BIN_COMMs, which here need no collective calls, as each deals out by itself.
#pragma once

#include <mpi.h>

namespace spillway::sort {

struct TwoSidedGroups {
  enum class Part { reader, receiver, sorter };

  // Collective. Throws UsageFailure, in all processes, where nobody reads, or a node has a receiver and no sorter.
  static TwoSidedGroups make(int readers);
  // Collective.
  void free();

  Part part;
  int readers;
  MPI_Comm read = MPI_COMM_NULL;      // of readers
  MPI_Comm transfer = MPI_COMM_NULL;  // of readers, who come first, and receivers
  MPI_Comm node = MPI_COMM_NULL;      // of a node's receiver, who is 0 there, and sorters
};

}  // namespace spillway::sort
