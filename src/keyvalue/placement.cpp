#include "keyvalue/placement.h"

#include <algorithm>
#include <string>

#include "keyvalue/failure.h"

namespace spillway::keyvalue {

Placement::Placement(MPI_D_Mode mode, const Configuration& configuration, int process, int process_count)
    : mode_(mode), process_(process), process_count_(process_count) {
  if (is_each_a_task()) {
    place_one_by_one(configuration);
  } else if (mode == MPI_D_MODE_MAPREDUCE || mode == MPI_D_MODE_ITERATION) {
    o_tasks_ = configuration.o_tasks != 0 ? configuration.o_tasks : process_count;
    a_tasks_ = configuration.a_tasks != 0 ? configuration.a_tasks : process_count;
  } else {
    throw Failure(MPI_D_ERR_CONF, "mode " + std::to_string(mode) + " is none", "the modes are in spillway/mpid.h");
  }
}

void Placement::place_one_by_one(const Configuration& configuration) {
  o_tasks_ = configuration.o_tasks;
  a_tasks_ = configuration.a_tasks;
  if (o_tasks_ == 0) o_tasks_ = a_tasks_ == 0 ? process_count_ / 2 : process_count_ - a_tasks_;
  if (a_tasks_ == 0) a_tasks_ = process_count_ - o_tasks_;
  if (o_tasks_ > 0 && a_tasks_ > 0 && o_tasks_ + a_tasks_ == process_count_) return;
  const std::string mode = mode_ == MPI_D_MODE_COMMON ? "common" : "streaming";
  throw Failure(MPI_D_ERR_CONF,
                "in the " + mode + " mode each process is a task, and " + std::to_string(std::max(o_tasks_, 0)) +
                    " O tasks and " + std::to_string(std::max(a_tasks_, 0)) + " A tasks do not fit " +
                    std::to_string(process_count_) + " process" + (process_count_ == 1 ? "" : "es"),
                "start as many processes as O and A tasks together, at least one of each");
}

Route Placement::to_a_tasks() const {
  Route route{
      process_, process_count_, process_count_, 0, std::min(a_tasks_, process_count_), static_cast<uint32_t>(a_tasks_)};
  if (is_each_a_task()) {
    route.sender_count = o_tasks_;
    route.first_receiver = o_tasks_;
    route.receiver_count = a_tasks_;
  }
  return route;
}

Route Placement::to_o_tasks_and_driver() const {
  Route route{process_,
              process_count_,
              process_count_,
              0,
              std::min(o_tasks_, process_count_),
              static_cast<uint32_t>(o_tasks_) + 1};
  route.has_driver_partition = true;
  if (process_of_o_task_.empty()) return route;
  route.processes = process_of_o_task_.data();
  route.receiver_count = process_count_;
  return route;
}

bool Placement::has_process_several_o_tasks() const {
  std::vector<int> counts(static_cast<size_t>(process_count_));
  for (int task = 0; task < o_tasks_; ++task)
    if (++counts[static_cast<size_t>(process_of_o_task(task))] > 1) return true;
  return false;
}

int Placement::next_own_a_task(int task) const {
  while (task < a_tasks_ && task % process_count_ != process_) ++task;
  return std::min(task, a_tasks_);
}

int Placement::next_own_o_task(int task) const {
  while (task < o_tasks_ && process_of_o_task(task) != process_) ++task;
  return std::min(task, o_tasks_);
}

}  // namespace spillway::keyvalue
