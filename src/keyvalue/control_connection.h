// The connection of a process to mpidrun, which gives out O tasks and counts what all processes do.
//
// Lines of text over TCP, to the address in MPI_D_CONTROL. The first is `hello VERSION SECRET PROCESS MODE O_TASKS
// A_TASKS`, which is answered with `welcome` or `refused this process: REASON`; then `figures NAME=VALUE ...` at any
// time, without an answer, and `task`, which is answered with the number of an O task, or -1 when all have been given
// out that this process may run. Before the first `task`, `host NUMBER` says where the process is, and one process says
// with `hosts NUMBER ...`, as often as it takes, where the O tasks' input is, from task 0 on (-1: anywhere); and with
// `done TASK ...` which are not wanted. These are answered with `ok`. mpidrun closes the connection of whoever it does
// not know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "keyvalue/figures.h"
#include "keyvalue/placement.h"

namespace spillway::keyvalue {

inline constexpr int kControlVersion = 3;
inline constexpr char kControlVariable[] = "MPI_D_CONTROL";               // address:port
inline constexpr char kControlSecretVariable[] = "MPI_D_CONTROL_SECRET";  // proves that somebody is of the job

class ControlConnection {
 public:
  // nullptr when mpidrun has not started this process. Throws Failure where it cannot be reached.
  static std::unique_ptr<ControlConnection> open_if_named(const Placement& placement);

  // The next O task, or -1.
  int next_task();
  // Before the first next_task(): the host of this process, and, said by one process and before that of any, those of
  // the tasks.
  void tell_host(int host);
  void tell_hosts_of_tasks(const std::vector<int>& hosts);
  // These are given to nobody. Before the first next_task() of any process.
  void tell_done(const std::vector<int>& tasks);
  void report(const Figures& figures);
  // The job is done, or has failed for what another start of it would not change.
  void tell_over();

 private:
  explicit ControlConnection(base::Descriptor socket) : socket_(std::move(socket)) {}
  void send_line(const std::string& line);
  std::string receive_line();
  // As many lines of `word` and some of the numbers as it takes.
  void send_numbers(const std::string& word, const std::vector<int>& numbers);

  base::Descriptor socket_;
};

}  // namespace spillway::keyvalue
