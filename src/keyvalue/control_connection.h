// The connection of a process to mpidrun, which gives out O tasks and counts what all processes do.
//
// Lines of text over TCP, to the address in MPI_D_CONTROL. The first is `hello VERSION SECRET PROCESS MODE O_TASKS
// A_TASKS`, which is answered with `welcome` or `refused this process: REASON`; then `figures NAME=VALUE ...` at any
// time, without an answer, and `task`, which is answered with the number of an O task, or -1 when all have been given
// out. mpidrun closes the connection of whoever it does not know.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "keyvalue/figures.h"
#include "keyvalue/placement.h"

namespace spillway::keyvalue {

inline constexpr int kControlVersion = 2;
inline constexpr char kControlVariable[] = "MPI_D_CONTROL";               // address:port
inline constexpr char kControlSecretVariable[] = "MPI_D_CONTROL_SECRET";  // proves that somebody is of the job

class ControlConnection {
 public:
  // nullptr when mpidrun has not started this process. Throws Failure where it cannot be reached.
  static std::unique_ptr<ControlConnection> open_if_named(const Placement& placement);

  // The next O task, or -1.
  int next_task();
  // These are given to nobody. Before the first next_task() of any process.
  void tell_done(const std::vector<int>& tasks);
  void report(const Figures& figures);
  // The job is done, or has failed for what another start of it would not change.
  void tell_over();

 private:
  explicit ControlConnection(base::Descriptor socket) : socket_(std::move(socket)) {}
  void send_line(const std::string& line);
  std::string receive_line();

  base::Descriptor socket_;
};

}  // namespace spillway::keyvalue
