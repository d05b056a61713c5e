#include "open_together.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include "agreement.h"

namespace apps {

CsrReader open_together(MPI_Comm communicator, const std::string& path, const CsrKind& kind) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  std::unique_ptr<CsrReader> file;
  run_together(communicator, [&] {
    if (rank == 0) {
      file = std::make_unique<CsrReader>(path, kind);
    }
  });
  run_together(communicator, [&] {
    if (rank != 0) {
      file = std::make_unique<CsrReader>(path, kind);
    }
  });
  uint64_t counts[3] = {file->row_count(), file->column_count(), file->entry_count()};
  MPI_Bcast(counts, 3, MPI_UINT64_T, 0, communicator);
  run_together(communicator, [&] {
    if (counts[0] != file->row_count() || counts[1] != file->column_count() || counts[2] != file->entry_count()) {
      throw std::runtime_error(std::string("sees another ") + kind.noun + " in " + path +
                               " than rank 0; put the file where all ranks see it");
    }
  });
  return std::move(*file);
}

}  // namespace apps
