#include "mpi/datatype_contents.h"

namespace spillway::mpi {

Envelope::Envelope(MPI_Datatype type) {
#ifdef PMPI_Type_get_envelope_c
  PMPI_Type_get_envelope_c(type, &integers, &addresses, &large_counts, &datatypes, &combiner);
#else
  PMPI_Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner);
#endif
}

Contents::Contents(MPI_Datatype type, const Envelope& envelope)
    : integers(static_cast<size_t>(envelope.integers)),
      addresses(static_cast<size_t>(envelope.addresses)),
      datatypes(static_cast<size_t>(envelope.datatypes)) {
  PMPI_Type_get_contents(type, static_cast<int>(integers.size()), static_cast<int>(addresses.size()),
                         static_cast<int>(datatypes.size()), integers.data(), addresses.data(), datatypes.data());
  for (MPI_Datatype& each : datatypes)
    if (Envelope(each).may_be_freed()) PMPI_Type_commit(&each);
}

Contents::~Contents() {
  for (MPI_Datatype& each : datatypes)
    if (Envelope(each).may_be_freed()) PMPI_Type_free(&each);
}

}  // namespace spillway::mpi
