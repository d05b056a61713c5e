// The agent that owns a job: starts the MPI launcher, decides about the job's end, and reports what came of it. On a
// single node it is the node's agent, too.
//
// It sleeps in epoll, and wakes when a process comes or goes, on a signal, and on the deadlines of Job. Costs one
// process of a few MB, and no processor time while the job runs.
#pragma once

#include <optional>

#include "launch/deadlock_watch.h"
#include "launch/event_loop.h"
#include "launch/job.h"
#include "launch/local_node.h"
#include "launch/mpi_launcher.h"
#include "launch/node_options.h"

namespace spillway::launch {

class JobAgent {
 public:
  explicit JobAgent(NodeOptions options);

  // Runs the job to its end; returns its exit status. Throws std::system_error when it cannot be started.
  int run();

 private:
  void take_signals();
  int timeout_ms() const;
  void pass_time();
  int finish(uint64_t started_ns);

  NodeOptions options_;
  EventLoop loop_;
  Descriptor report_;
  LocalNode node_;
  Job job_;
  std::optional<DeadlockWatch> deadlock_watch_;
  MpiLauncher launcher_;
  Descriptor signals_;
};

}  // namespace spillway::launch
