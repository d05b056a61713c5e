// Named shared memory that MPI libraries leave behind when their processes are killed.
//
// Some (UCX below MPICH, Open MPI's vader) keep a file in /dev/shm for as long as a rank lives and remove it in
// MPI_Finalize only. Which files those are is seen in the maps of the living rank: after its MPI_Init, and again before
// it is killed. Files of other origin, which the program itself may want to keep, are left alone.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>

namespace spillway::launch {

class MpiSegments {
 public:
  // Remembers what process `pid` has mapped.
  void note(pid_t pid);

  // Removes what is still there of it. To be called when the processes have ended.
  void remove();

  // True for the path of a file that an MPI library makes.
  static bool is_of_mpi_library(std::string_view path);

 private:
  std::set<std::string> paths_;
};

}  // namespace spillway::launch
