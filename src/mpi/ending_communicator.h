// What Spillway does about a communicator that the program frees (MPI 4.1, 7.4.3): operations on it go on, and have
// their errors handled as before.
#pragma once

#include <mpi.h>

#include "mpi/communicator.h"

namespace spillway::mpi {

class Runtime;

// Made before the library frees the communicator. `runtime` may be nullptr.
class EndingCommunicator {
 public:
  EndingCommunicator(Runtime* runtime, MPI_Comm handle);
  EndingCommunicator(const EndingCommunicator&) = delete;
  EndingCommunicator& operator=(const EndingCommunicator&) = delete;
  ~EndingCommunicator();

  // The library's call has succeeded.
  void ended();

 private:
  Runtime* runtime_;
  CommunicatorRef communicator_;
  MPI_Errhandler error_handler_{};
};

}  // namespace spillway::mpi
