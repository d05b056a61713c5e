// The two directions between the job and its nodes: what it is told of its ranks, and what it has them do. Ranks are
// those of MPI_COMM_WORLD.
//
// In a job on one node, both sides are in one process (JobAgent). On several nodes, each has an agent of its own
// (MemberAgent), and both interfaces are spoken over the network (launch/control_connection.h).
#pragma once

#include <string>

#include "node/attach_protocol.h"

namespace spillway::launch {

// Implemented by Job, and by what carries them to it.
class JobEvents {
 public:
  virtual void parent_came(int rank, int pid) = 0;  // of the parent
  virtual void program_started(int rank, int pid) = 0;
  virtual void program_never_started(int rank) = 0;
  virtual void program_ended(int rank, int wait_status) = 0;
  virtual void parent_lost(int rank) = 0;
  virtual void library_came(int rank) = 0;
  virtual void library_lost(int rank) = 0;
  virtual void rank_finalized(int rank) = 0;
  virtual void rank_left_finalize(int rank) = 0;
  virtual void rank_gave_up(int rank, const std::string& text, int wait_status) = 0;
  // Its host cannot give what it needs; `why` may end with a remedy as in describe(Failure).
  virtual void node_gave_up(const std::string& host, const std::string& why) = 0;
  // Something for the user to know; the job goes on.
  virtual void warn(const std::string& text) = 0;

 protected:
  ~JobEvents() = default;
};

// Implemented by LocalNode, and by what carries them to it.
class Nodes {
 public:
  // `kind` is `kill` or `release`, for a rank whose parent is there.
  virtual void tell_parent(int rank, node::MessageKind kind) = 0;
  virtual void signal_parents(int number) = 0;
  // Ranks do nothing more that could hide the first message.
  virtual void mark_failed() = 0;
  // What a rank that has ended still holds is free for others.
  virtual void retire(int rank) = 0;

  virtual bool is_in_critical_section(int rank) const = 0;
  virtual std::string host_of(int rank) const = 0;

 protected:
  ~Nodes() = default;
};

}  // namespace spillway::launch
