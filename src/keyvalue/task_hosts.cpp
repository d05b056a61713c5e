#include "keyvalue/task_hosts.h"

#include <algorithm>

#include "base/host_names.h"
#include "keyvalue/failure.h"

namespace spillway::keyvalue {
namespace {

[[noreturn]] void refuse_host(const std::string& host, size_t task, const std::vector<std::string>& hosts) {
  std::string known;
  for (const std::string& name : hosts) known += (known.empty() ? "" : ", ") + name;
  throw Failure(MPI_D_ERR_CONF,
                "O task " + std::to_string(task) + " has its input on host " + host +
                    ", where this job has no process: those are on " + known,
                "start it on that host, too, or name the host as `hostname` does there");
}

}  // namespace

TaskHosts::TaskHosts(const std::vector<std::string>& host_of_process, const Placement& placement,
                     const std::vector<std::string>& hosts) {
  if (placement.mode() != MPI_D_MODE_MAPREDUCE)
    throw Failure(MPI_D_ERR_CONF, "MPI_D_INPUT_HOSTS is of the MapReduce mode: in others each O task has its process",
                  "leave it out, or files of certain hosts (host:/path), and let each task read what its host has");
  if (hosts.size() != static_cast<size_t>(placement.o_tasks()))
    throw Failure(MPI_D_ERR_CONF,
                  "MPI_D_INPUT_HOSTS is about " + std::to_string(hosts.size()) + " O tasks, and the job has " +
                      std::to_string(placement.o_tasks()),
                  "leave their number to the program where files are of certain hosts (no -O, no MPI_D_O_TASKS)");
  std::vector<std::string> known;  // hosts of processes, each once
  for (const std::string& name : host_of_process) {
    const auto found = std::find(known.begin(), known.end(), name);
    const auto number = static_cast<size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(name);
      processes_.emplace_back();
    }
    processes_[number].push_back(static_cast<int>(&name - host_of_process.data()));
    if (processes_[number].back() == placement.process()) here_ = static_cast<int>(number);
  }
  for (const std::string& host : hosts) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const std::string& name) { return base::is_same_host(name, host); });
    if (!host.empty() && found == known.end()) refuse_host(host, of_tasks_.size(), known);
    of_tasks_.push_back(host.empty() ? kAnywhere : static_cast<int>(found - known.begin()));
  }
}

std::vector<int> TaskHosts::own_tasks(const Placement& placement) const {
  std::vector<int> own;
  std::vector<size_t> turns(processes_.size());
  for (int task = 0; task < placement.o_tasks(); ++task) {
    const int host = of_tasks_.empty() ? kAnywhere : of_tasks_[static_cast<size_t>(task)];
    const int process = host == kAnywhere
                            ? task % placement.process_count()
                            : processes_[host][turns[static_cast<size_t>(host)]++ % processes_[host].size()];
    if (process == placement.process()) own.push_back(task);
  }
  return own;
}

}  // namespace spillway::keyvalue
