// Which hosts have the input of which O tasks (MPI_D_INPUT_HOSTS), and so which processes run them.
#pragma once

#include <string>
#include <vector>

#include "keyvalue/placement.h"

namespace spillway::keyvalue {

class TaskHosts {
 public:
  // `hosts` has one name for each O task, or an empty one where it may run anywhere. Throws Failure where a host has no
  // process, the numbers differ, or the mode is another.
  TaskHosts(const std::vector<std::string>& host_of_process, const Placement& placement,
            const std::vector<std::string>& hosts);

  // A number for the host of each O task, or kAnywhere.
  static constexpr int kAnywhere = -1;
  const std::vector<int>& of_tasks() const { return of_tasks_; }
  // The number of this process's host.
  int here() const { return here_; }

  // The process of each O task where nobody gives them out: the processes of a host take turns, and of the tasks that
  // may run anywhere task t is that of process t modulo their number.
  std::vector<int> processes_of_tasks() const;

 private:
  std::vector<int> of_tasks_;
  int here_ = kAnywhere;
  int process_count_;
  std::vector<std::vector<int>> processes_;  // of each host
};

}  // namespace spillway::keyvalue
