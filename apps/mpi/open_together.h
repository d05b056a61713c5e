// All ranks open the same file.
#pragma once

#include <mpi.h>

#include <string>

#include "csr_file.h"

namespace apps {

// Collective. Rank 0 looks at the file first: most bad files are found by one rank, before others touch them. Throws
// AgreedFailure on all ranks when one cannot open it, or sees another file.
CsrReader open_together(MPI_Comm communicator, const std::string& path, const CsrKind& kind);

}  // namespace apps
