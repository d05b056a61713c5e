// Named shared memory that MPI libraries leave behind when their processes are killed.
//
// Some (UCX below MPICH, Open MPI's vader) keep a file in /dev/shm for as long as a rank lives and remove it in
// MPI_Finalize only; MPICH makes one in MPI_Init that has a name until every rank has mapped it. Which files those are
// is seen in the maps and the descriptors of the living rank: after its MPI_Init, and before a signal that may end it,
// for which it is stopped so that it makes no more of them meanwhile. Files of other origin, which the program itself
// may want to keep, are left alone.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <set>
#include <string>
#include <string_view>

namespace spillway::launch {

class MpiSegments {
 public:
  // Remembers what process `pid` has mapped or open.
  void note(pid_t pid);

  // Sends a signal to a child of ours, having noted all that it had until then.
  void signal_after_note(pid_t child, int number);

  // Remembers what a job that began at `since` may have left when its processes were killed by others, or gave up
  // inside MPI_Init, unseen: files of this user that no process has mapped or open. Processes of other containers with
  // the same /dev/shm are not seen, so this is for jobs that failed only.
  void note_orphans(time_t since);

  // Removes what is still there of it. To be called when the processes have ended.
  void remove();

  // True for the path of a file that an MPI library makes.
  static bool is_of_mpi_library(std::string_view path);

 private:
  void add(const std::string& path);

  std::set<std::string> paths_;
};

}  // namespace spillway::launch
