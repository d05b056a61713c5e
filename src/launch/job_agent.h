// The agent that owns a job: starts the MPI launcher, decides about the job's end, and reports what came of it. Where
// all ranks run here it is the node's agent, too.
//
// It sleeps in epoll, and wakes when a process comes or goes, on a signal, and on the deadlines of Job. Costs one
// process of a few MB, and no processor time while the job runs.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "launch/deadlock_watch.h"
#include "launch/event_loop.h"
#include "launch/job.h"
#include "launch/local_node.h"
#include "launch/mpi_launcher.h"
#include "launch/node_options.h"
#include "launch/remote_nodes.h"

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

  bool has_several_nodes() const { return !options_.listen.empty(); }
  Nodes& nodes();
  std::map<std::string, std::string> settings_of_ranks() const;
  void wait_for_reports();

  NodeOptions options_;
  EventLoop loop_;
  base::Descriptor report_;
  // One of the two.
  std::optional<LocalNode> node_;
  std::optional<RemoteNodes> nodes_;
  Job job_;
  std::optional<DeadlockWatch> deadlock_watch_;
  MpiLauncher launcher_;
  base::Descriptor signals_;
};

}  // namespace spillway::launch
