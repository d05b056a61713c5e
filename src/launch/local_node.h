// What a node's agent has of its node: the shared segment and the message spill files, the socket that ranks attach to,
// and the connections of their parents and libraries.
//
// Ranks schedule themselves through the segment: the agent is never needed for their progress.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "launch/attach_socket.h"
#include "launch/event_loop.h"
#include "launch/job_events.h"
#include "launch/mpi_segments.h"
#include "launch/node_options.h"
#include "launch/slot_lender.h"
#include "node/segment.h"

namespace spillway::launch {

class LocalNode final : public Nodes {
 public:
  LocalNode(EventLoop& loop, const NodeOptions& options);

  // Whom to tell of the ranks. Before anything else.
  void report_to(JobEvents& job) { job_ = &job; }

  // Listens for ranks under a name of the abstract namespace. False, with errno, when it is taken or the system
  // refuses.
  bool listen(const std::string& name);

  // Makes what the ranks share; those that have come already are let in. Until then their libraries wait.
  void set_up(uint32_t node_index, uint32_t node_count, std::vector<node::RankPlace> places);
  bool is_set_up() const { return segment_.has_value(); }
  const node::Segment& segment() const { return *segment_; }

  // For the node's courier.
  node::Segment map_segment_again() const;
  int courier_bell() const { return courier_bell_.number(); }
  std::vector<int> duplicate_message_spills() const;
  const std::string& spill_directories() const { return options_.spill_directories; }

  const std::string& host() const { return host_; }

  // How long the agent may sleep until it calls pass_time; 0: as long as it likes.
  uint64_t interval_ns() const;
  void pass_time(uint64_t now_ns, bool may_ranks_go_on);

  // Ends all connections: parents that are still there end their ranks.
  void close();
  // When all processes of the node have ended: removes what MPI libraries have left behind, and of a job that failed
  // and had begun at `since` all that nobody has open.
  void remove_mpi_segments(bool has_failed, time_t since);
  void kill_all();
  bool has_parents() const { return !parents_.empty(); }

  void tell_parent(int rank, node::MessageKind kind) override;
  void signal_parents(int number) override;
  void mark_failed() override;
  void retire(int rank) override;
  bool is_in_critical_section(int rank) const override;
  std::string host_of(int rank) const override;

 private:
  struct Connection {
    base::Descriptor socket;
    pid_t pid = 0;
    node::Role role{};  // zero until hello
    int rank = -1;
  };

  void take_connection();
  void take_messages(int socket);
  void take_message(Connection& connection, const AttachMessage& message);
  void greet(Connection& connection, const AttachMessage& hello);
  void welcome(Connection& connection);
  void warn_of_threads();
  void drain_library_of(int rank);
  void lose(int socket);
  bool is_here(int rank) const;
  uint32_t index_of(int rank) const { return segment_->places()[static_cast<size_t>(rank)].index; }

  EventLoop& loop_;
  const NodeOptions& options_;
  std::string host_;
  JobEvents* job_ = nullptr;
  std::vector<base::Descriptor> message_spills_;
  base::Descriptor courier_bell_;
  std::optional<node::Segment> segment_;
  std::optional<SlotLender> slot_lender_;
  MpiSegments segments_left_;
  base::Descriptor listener_;
  std::unordered_map<int, Connection> connections_;  // by socket
  std::unordered_map<int, int> parents_;             // their sockets, by rank
  std::vector<int> to_retire_;
  bool has_failed_ = false;
  bool has_warned_of_threads_ = false;
};

}  // namespace spillway::launch
