// The MPI library's own launcher (mpiexec), as a child of the node agent.
//
// It runs in a session of its own, so that a terminal's signals reach only the front end, which decides who gets them;
// reading from the terminal still works there. It dies with the agent. The agent is the reaper of orphans
// (launch/descendants.h): whatever the launcher leaves behind becomes a child of the agent.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "launch/node_options.h"
#include "launch/output_relay.h"

namespace spillway::launch {

class MpiLauncher {
 public:
  MpiLauncher();

  // Starts `options.command`, with `settings` in the ranks' environment besides what they always have. Throws
  // std::system_error when there is no such program.
  void start(const NodeOptions& options, const std::string& socket_name,
             const std::map<std::string, std::string>& settings = {});

  // Reaps whoever has ended. True once the launcher itself has.
  bool reap();

  bool has_ended() const { return has_ended_; }
  int wait_status() const { return wait_status_; }
  pid_t process() const { return process_; }
  void kill_all() const;

  // Stops it when the job stops (SIGTSTP), since it would go on reading the terminal; SIGCONT lets it go on.
  void follow(int signal_number) const;

  // Writes to standard error, where its own errors go, without waiting for who reads that.
  void say(const std::string& text) { errors_.say(text); }

  // Waits until all output has been carried over. No process that writes to it may be left, unless `is_any_left`.
  void finish_output(bool is_any_left);

  // After `finish_output`: lines in which the launcher tells of its own errors.
  const std::string& own_errors() const { return errors_.errors_of_launcher(); }

 private:
  OutputRelay output_;
  OutputRelay errors_;
  pid_t process_ = 0;
  bool has_ended_ = false;
  int wait_status_ = 0;
};

}  // namespace spillway::launch
