// The node agent: owns what the ranks of a node share, watches them, and ends the job.
//
// It makes the node's segment and the message spill file, starts the MPI launcher, and then sleeps in epoll. Ranks
// schedule themselves through the segment: the agent is never needed for their progress. It wakes when a process comes
// or goes, on a signal, and on the deadlines of Job. Costs one process of a few MB, and no processor time while the job
// runs.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "launch/attach_socket.h"
#include "launch/deadlock_watch.h"
#include "launch/job.h"
#include "launch/mpi_launcher.h"
#include "launch/mpi_segments.h"
#include "launch/node_options.h"
#include "launch/slot_lender.h"
#include "node/segment.h"

namespace spillway::launch {

class NodeAgent {
 public:
  explicit NodeAgent(NodeOptions options);

  // Runs the job to its end; returns its exit status. Throws std::system_error when it cannot be started.
  int run();

 private:
  struct Connection {
    Descriptor socket;
    pid_t pid = 0;
    node::Role role{};  // zero until hello
    int rank = -1;
  };

  void watch(int descriptor, uint32_t events);
  void take_signals();
  void take_connections();
  void take_messages(int socket);
  void take_message(Connection& connection, const AttachMessage& message);
  void greet(Connection& connection, const AttachMessage& hello);
  void warn_of_threads();
  void drain_library_of(int rank);
  void lose(int socket);
  int wait_for_event();
  void handle_event(int descriptor);
  void pass_time();
  int finish(uint64_t started_ns);

  NodeOptions options_;
  std::string host_;
  Descriptor report_;
  std::vector<Descriptor> message_spills_;
  node::Segment segment_;
  Descriptor courier_bell_;
  Job job_;
  DeadlockWatch deadlock_watch_;
  SlotLender slot_lender_;
  MpiLauncher launcher_;
  MpiSegments segments_left_;
  Descriptor listener_;
  Descriptor signals_;
  Descriptor events_;
  bool has_warned_of_threads_ = false;
  std::unordered_map<int, Connection> connections_;  // by socket
};

}  // namespace spillway::launch
