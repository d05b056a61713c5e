// Which hosts have the input of which O tasks (MPI_D_INPUT_HOSTS), and so which processes may run them.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "keyvalue/placement.h"

namespace spillway::keyvalue {

// As a program may write it: hosts without regard to case, with or without their domain.
bool is_same_host(const std::string& name, const std::string& other);

class TaskHosts {
 public:
  // Anywhere.
  TaskHosts() = default;
  // Collective over `communicator`. `hosts` has one name for each O task, or an empty one where it may run anywhere.
  // Throws Failure where a host has no process, or the numbers differ.
  TaskHosts(MPI_Comm communicator, const Placement& placement, const std::vector<std::string>& hosts);
  // The same with what each process's host is.
  TaskHosts(const std::vector<std::string>& host_of_process, const Placement& placement,
            const std::vector<std::string>& hosts);

  // A number for the host of each O task, or kAnywhere; none at all where all of them may run anywhere.
  static constexpr int kAnywhere = -1;
  const std::vector<int>& of_tasks() const { return of_tasks_; }
  // The number of this process's host; kAnywhere where no task is only there.
  int here() const { return here_; }

  // The O tasks of this process where nobody gives them out: the processes of a host take turns, and of the tasks that
  // may run anywhere task t is that of process t modulo their number.
  std::vector<int> own_tasks(const Placement& placement) const;

 private:
  std::vector<int> of_tasks_;
  int here_ = kAnywhere;
  std::vector<std::vector<int>> processes_;  // of each host
};

}  // namespace spillway::keyvalue
