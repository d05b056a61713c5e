// How a derived datatype was made (MPI 4.1, 5.1.13).
#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace spillway::mpi {

// The call, and the numbers of its arguments.
struct Envelope {
  explicit Envelope(MPI_Datatype type);

#ifdef PMPI_Type_get_envelope_c
  MPI_Count integers = 0, addresses = 0, large_counts = 0, datatypes = 0;
#else
  int integers = 0, addresses = 0, large_counts = 0, datatypes = 0;
#endif
  int combiner = MPI_COMBINER_NAMED;

  bool is_predefined() const { return combiner == MPI_COMBINER_NAMED; }
  bool may_be_freed() const {
    return combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_INTEGER &&
           combiner != MPI_COMBINER_F90_REAL && combiner != MPI_COMBINER_F90_COMPLEX;
  }
};

// The arguments themselves. REQUIRES: the datatype is not predefined, and there are no large counts.
class Contents {
 public:
  Contents(MPI_Datatype type, const Envelope& envelope);
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;
  ~Contents();

  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> datatypes;  // usable for communication
};

}  // namespace spillway::mpi
