// The nodes of a job that has several, as its agent sees them: each has an agent of its own, which connects to this
// one.
//
// Which ranks a node has is for the MPI launcher to decide: each rank's parent starts its node's agent, if it is the
// first one there (RankParent), and says which rank it is. When all ranks have come, all nodes are told who they are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/control_connection.h"
#include "launch/job.h"
#include "launch/node_options.h"
#include "launch/patience.h"
#include "launch/stillness_vote.h"

namespace spillway::launch {

class RemoteNodes final : public Nodes {
 public:
  // Listens at the address of this machine that the nodes can reach. Throws std::system_error.
  RemoteNodes(EventLoop& loop, const NodeOptions& options);

  // Before anything else.
  void report_to(Job& job) { job_ = &job; }

  // What a node's agent needs to join: "address port".
  const std::string& where_to_join() const { return where_to_join_; }
  // A node that does not know it is refused.
  const std::string& secret() const { return secret_; }

  // Some MPI launchers wait for ever for a host that they cannot reach. Says so when no rank has come for long,
  // although some are missing. To be called once in each interval, until all have come.
  static constexpr uint64_t kIntervalNs = 1000000000;
  bool have_all_come() const { return are_together_; }
  std::optional<Failure> look_for_missing_ranks(uint64_t now_ns);

  // Once the first rank has been released, the time since then counts by looks in each interval, too.
  bool have_been_released() const { return since_release_.has_value(); }
  void look_after_release(uint64_t now_ns) {
    if (since_release_) since_release_->look(now_ns);
  }

  // Who connects in another version may be a stranger, or a host whose ranks will not come: it is named in the message
  // of a job that fails before all are together.
  void explain(Failure& failure) const;

  // All processes of the job have ended, some of them badly.
  void finish(bool has_failed);
  bool have_all_reported() const;
  // Of those nodes whose agents no more answered when all was over: still there, or lost long after their ranks were
  // released. (Slurm kills agents as soon as the ranks' parents are gone.)
  std::vector<std::string> silent_hosts() const;
  // In order of the nodes' numbers; none of those that are lost.
  std::vector<std::string> reports() const;

  void tell_parent(int rank, node::MessageKind kind) override;
  void signal_parents(int number) override;
  void mark_failed() override;
  void retire(int rank) override;
  bool is_in_critical_section(int rank) const override;
  std::string host_of(int rank) const override;

 private:
  struct Node {
    std::unique_ptr<ControlConnection> connection;  // nullptr: it is lost
    bool has_joined = false;
    std::string host;
    uint16_t courier_port = 0;
    std::vector<int> ranks;  // ascending, once all have come
    std::string report;
    bool has_reported = false;  // all that it is going to
    bool is_lost_late = false;
  };
  struct Rank {
    Node* node = nullptr;
    bool is_critical = false;
    base::Descriptor parent;  // watched as long as it lives
  };

  void take_connection();
  void take_message(Node& node, const ControlMessage& message);
  void take_join(Node& node, const ControlMessage& message);
  void take_rank_event(Node& node, const ControlMessage& message);
  // Several nodes of this machine: their reports come in any order, what happens to processes is seen in its own.
  void watch_parent(int rank, int pid);
  void take_stillness(const Node& node, const ControlMessage& message);
  void bring_together();
  std::string text_of_ring() const;
  void lose(Node& node);
  void send_to_all(const ControlMessage& message);
  void send(Node* node, const ControlMessage& message);

  EventLoop& loop_;
  const NodeOptions& options_;
  Job* job_ = nullptr;
  base::Descriptor listener_;
  std::string where_to_join_;
  std::string secret_;
  std::vector<std::unique_ptr<Node>> nodes_;  // from bring_together() on by number
  bool is_on_this_machine_;                   // whatever the number of nodes
  std::vector<Rank> ranks_;
  std::optional<StillnessVote> stillness_vote_;  // once all have come
  uint32_t ranks_come_ = 0;
  Patience patience_;                  // with the next rank
  std::string host_of_other_version_;  // its address; empty: none has come
  bool are_together_ = false;
  bool is_finishing_ = false;
  std::optional<Patience> since_release_;  // of the first rank
  bool has_failed_ = false;
};

}  // namespace spillway::launch
