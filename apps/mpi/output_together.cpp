#include "output_together.h"

#include <fcntl.h>

#include <list>

#include "agreement.h"
#include "partial_file.h"

namespace apps {

void write_together(MPI_Comm communicator, const std::vector<Output>& outputs) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  std::list<PartialFile> files;  // rank 0 makes and finishes, or removes, them
  run_together(communicator, [&] {
    for (const Output& output : outputs) {
      if (rank == 0) {
        files.emplace_back(output.path).file().resize(output.bytes);
      }
    }
  });
  run_together(communicator, [&] {
    for (const Output& output : outputs) {
      File file(partial_path(output.path), O_WRONLY);
      output.write_part(file);
      file.close();
    }
  });
  run_together(communicator, [&] {
    for (PartialFile& file : files) {
      file.finish();
    }
  });
}

}  // namespace apps
