// Which processes run which tasks: what a mode is, apart from the core that all modes share.
#pragma once

#include <spillway/mpid.h>

#include <utility>
#include <vector>

#include "keyvalue/configuration.h"
#include "keyvalue/route.h"

namespace spillway::keyvalue {

class Placement {
 public:
  // Throws Failure where the tasks do not fit the processes.
  Placement(MPI_D_Mode mode, const Configuration& configuration, int process, int process_count);

  MPI_D_Mode mode() const { return mode_; }
  int process() const { return process_; }
  int process_count() const { return process_count_; }
  int o_tasks() const { return o_tasks_; }
  int a_tasks() const { return a_tasks_; }

  // An A task is run by the process that holds its records. So is an O task in the iteration mode, for those that A
  // tasks send, and for what it keeps from round to round.
  Route to_a_tasks() const;
  Route to_o_tasks_and_driver() const;  // which stays as long as the placement

  // The process of each O task, where it is not that of its number modulo theirs.
  void place_o_tasks(std::vector<int> processes) { process_of_o_task_ = std::move(processes); }
  int process_of_o_task(int task) const {
    return process_of_o_task_.empty() ? task % process_count_ : process_of_o_task_[static_cast<size_t>(task)];
  }
  bool has_process_several_o_tasks() const;

  // Of those of this process, the first that is not below `task`; their number when there is none.
  int next_own_a_task(int task) const;
  int next_own_o_task(int task) const;

  bool has_o_tasks(int process) const { return !is_each_a_task() || process < o_tasks_; }
  bool has_a_tasks(int process) const { return is_each_a_task() ? process >= o_tasks_ : process < a_tasks_; }

 private:
  bool is_each_a_task() const { return mode_ == MPI_D_MODE_COMMON || mode_ == MPI_D_MODE_STREAMING; }
  void place_one_by_one(const Configuration& configuration);

  MPI_D_Mode mode_;
  int process_;
  int process_count_;
  int o_tasks_ = 0;
  int a_tasks_ = 0;
  std::vector<int> process_of_o_task_;
};

}  // namespace spillway::keyvalue
