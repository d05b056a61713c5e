// The parent of one rank's program.
//
// The MPI launcher starts `spillway-rank program args` instead of the program. The parent stays behind: it passes
// signals on, tells the node agent how the program ended, and exits only when the agent says so. The MPI launcher thus
// never sees a rank die: it is the agent that decides what a death means, ends the other ranks and prints one message.
// The program dies with its parent, and the parent ends the program when the agent is gone; what the program itself
// leaves running ends with the parent. It also stops the program's other threads while one of them unloads memory. The
// first one of a node starts its agent, and the agent's guard (launch/agent_guard.h).
//
// There is one per rank, 64 or more on a node: it is linked statically, sleeps in poll, and allocates next to nothing.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>

#include "launch/attach_socket.h"
#include "launch/mpi_segments.h"
#include "launch/thread_stopper.h"

namespace spillway::launch {

class RankParent {
 public:
  // `arguments` is the program and its arguments, ended by a null pointer.
  explicit RankParent(char** arguments) : arguments_(arguments) {}

  // Runs the program to its end; returns the exit status for the MPI launcher.
  int run();

 private:
  bool attach_to_agent();
  base::Descriptor agent_of_node(const std::string& job, int ranks_per_node);
  bool listen_for_program();
  bool start_program();
  [[noreturn]] void become_program(int failure_pipe, pid_t parent);
  void supervise();
  void take_message();
  void take_stop_request();
  void stop_threads(int thread);
  void take_signal();
  void reap();
  void report_end(int wait_status);
  void kill_program();

  char** arguments_;
  int world_rank_ = -1;
  sigset_t original_signals_{};
  base::Descriptor agent_;
  base::Descriptor signals_;
  base::Descriptor listener_;  // for the library in the program
  Peer stop_request_;          // threads are stopped until it closes
  ThreadStopper threads_;
  bool has_complained_ = false;      // that they cannot be stopped
  bool has_agent_said_why_ = false;  // it cannot be reached
  MpiSegments segments_;
  pid_t program_ = 0;  // 0: not running
  bool is_released_ = false;
  int exit_status_ = 1;
};

}  // namespace spillway::launch
