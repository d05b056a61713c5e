// The connection of a process to mpidrun, which gives out O tasks and counts what all processes do.
//
// Lines of text over TCP, to the address in MPI_D_CONTROL. The first is `hello VERSION SECRET PROCESS MODE O_TASKS
// A_TASKS`, which is answered with `welcome` or `refused this process: REASON`; then `figures NAME=VALUE ...` at any
// time, without an answer, and `task`, which is answered with the number of an O task, or -1 when all have been given
// out that this process may run. Before the first `task`, `host NUMBER` says where the process is, and one process says
// with `hosts NUMBER ...`, as often as it takes, where the O tasks' input is, from task 0 on (-1: anywhere); and with
// `done TASK ...` and `done-a TASK ...` which O and A tasks an earlier start has done. These are answered with `ok`.
// `over` says that another start would be of no use; a process without a job says `over SECRET` in place of `hello`,
// which is answered with `ok`. mpidrun closes the connection of whoever it does not know.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "keyvalue/figures.h"
#include "keyvalue/placement.h"

namespace spillway::keyvalue {

inline constexpr int kControlVersion = 4;
inline constexpr char kControlVariable[] = "MPI_D_CONTROL";               // address:port
inline constexpr char kControlSecretVariable[] = "MPI_D_CONTROL_SECRET";  // proves that somebody is of the job

class ControlConnection {
 public:
  // nullptr when mpidrun has not started this process. Throws Failure where it cannot be reached.
  static std::unique_ptr<ControlConnection> open_if_named(const Placement& placement);
  // As tell_over_at_end(), of a process that has no job. Throws Failure.
  static void tell_over_without_job();

  // The next O task, or -1.
  int next_task();
  // Before the first next_task(): the host of this process, and, said by one process and before that of any, those of
  // the tasks.
  void tell_host(int host);
  void tell_hosts_of_tasks(const std::vector<int>& hosts);
  // An earlier start has done these, and nobody is given one of them. Before the first next_task() of any process.
  void tell_done(const std::vector<int>& o_tasks, const std::vector<int>& a_tasks);
  void report(const Figures& figures);
  // The job is done, or has failed for what another start of it would not change.
  void tell_over();
  // The same of a process that ends, and waits no longer than a few seconds.
  void tell_over_at_end();

 private:
  ControlConnection(std::string address, base::Descriptor socket)
      : address_(std::move(address)), socket_(std::move(socket)) {}
  void refuse_silence() const;
  enum class IsStopped { waited_for, refused };  // an mpidrun that does not go on
  void go_on_after(int error, IsStopped stopped) const;
  [[noreturn]] void fail_without_machine(const std::string& cause) const;
  void send_line(const std::string& line, IsStopped stopped = IsStopped::waited_for);
  std::string receive_line(IsStopped stopped = IsStopped::waited_for);
  // As many lines of `word` and some of the numbers as it takes.
  void send_numbers(const std::string& word, const std::vector<int>& numbers);

  const std::string address_;
  base::Descriptor socket_;
};

}  // namespace spillway::keyvalue
