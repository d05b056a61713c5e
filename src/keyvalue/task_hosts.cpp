#include "keyvalue/task_hosts.h"

#include <strings.h>

#include <algorithm>
#include <map>

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

// The number of a host among those known. One that is written whole is that one, whatever others are called.
int number_of_host(const std::string& host, size_t task, const std::vector<std::string>& known) {
  std::vector<size_t> same;
  for (size_t i = 0; i < known.size(); ++i) {
    if (strcasecmp(known[i].c_str(), host.c_str()) == 0) return static_cast<int>(i);
    if (base::is_same_host(known[i], host)) same.push_back(i);
  }
  if (same.empty()) refuse_host(host, task, known);
  if (same.size() > 1)
    throw Failure(MPI_D_ERR_CONF,
                  "O task " + std::to_string(task) + " has its input on host " + host + ", which may be " +
                      known[same[0]] + " or " + known[same[1]],
                  "write its name with the domain");
  return static_cast<int>(same[0]);
}

}  // namespace

TaskHosts::TaskHosts(const std::vector<std::string>& host_of_process, const Placement& placement,
                     const std::vector<std::string>& hosts)
    : process_count_(placement.process_count()) {
  if (placement.mode() != MPI_D_MODE_MAPREDUCE && placement.mode() != MPI_D_MODE_ITERATION)
    throw Failure(MPI_D_ERR_CONF,
                  "MPI_D_INPUT_HOSTS is of the modes MapReduce and iteration: in others each process is a task",
                  "leave it out, or files of certain hosts (host:/path), and let each task read what its host has");
  if (hosts.size() != static_cast<size_t>(placement.o_tasks()))
    throw Failure(MPI_D_ERR_CONF,
                  "MPI_D_INPUT_HOSTS is about " + std::to_string(hosts.size()) + " O tasks, and the job has " +
                      std::to_string(placement.o_tasks()),
                  "leave their number to the program where files are of certain hosts (no -O, no MPI_D_O_TASKS)");
  std::vector<std::string> known;  // hosts of processes, each once
  std::map<std::string, int> numbers;
  for (size_t process = 0; process < host_of_process.size(); ++process) {
    const auto [entry, is_new] = numbers.emplace(host_of_process[process], static_cast<int>(known.size()));
    if (is_new) {
      known.push_back(host_of_process[process]);
      processes_.emplace_back();
    }
    processes_[static_cast<size_t>(entry->second)].push_back(static_cast<int>(process));
    if (static_cast<int>(process) == placement.process()) here_ = entry->second;
  }
  std::map<std::string, int> written = {{"", kAnywhere}};  // names as the program gives them
  for (size_t task = 0; task < hosts.size(); ++task) {
    auto found = written.find(hosts[task]);
    if (found == written.end()) found = written.emplace(hosts[task], number_of_host(hosts[task], task, known)).first;
    of_tasks_.push_back(found->second);
  }
}

std::vector<int> TaskHosts::processes_of_tasks() const {
  std::vector<int> processes;
  std::vector<size_t> turns(processes_.size());
  for (const int host : of_tasks_) {
    if (host == kAnywhere) {
      processes.push_back(static_cast<int>(processes.size()) % process_count_);
      continue;
    }
    const std::vector<int>& of_host = processes_[static_cast<size_t>(host)];
    processes.push_back(of_host[turns[static_cast<size_t>(host)]++ % of_host.size()]);
  }
  return processes;
}

}  // namespace spillway::keyvalue
