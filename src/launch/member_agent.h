// The agent of one node of a job that has several. It is started by the first of the node's ranks to come
// (RankParent), joins the job's agent over the network, and does its bidding; without it, it ends the node's ranks.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "courier/courier.h"
#include "launch/control_connection.h"
#include "launch/deadlock_watch.h"
#include "launch/event_loop.h"
#include "launch/local_node.h"
#include "launch/node_options.h"

namespace spillway::launch {

class MemberAgent final : public JobEvents {
 public:
  explicit MemberAgent(const NodeOptions& options);

  // Runs until the job is over; returns the exit status. Also when another agent serves the node already.
  int run();

  void parent_came(int rank, int pid) override;
  void program_started(int rank, int pid) override;
  void program_never_started(int rank) override;
  void program_ended(int rank, int wait_status) override;
  void parent_lost(int rank) override;
  void library_came(int rank) override;
  void library_lost(int rank) override;
  void rank_finalized(int rank) override;
  void rank_left_finalize(int rank) override;
  void rank_gave_up(int rank, const std::string& text, int wait_status) override;
  void node_gave_up(const std::string& host, const std::string& why) override;
  void warn(const std::string& text) override;

 private:
  bool join();
  int refuse_to_serve();
  void serve();
  void take_fatal_errors();
  static bool pass_on_fatal(const char* message);
  [[noreturn]] void give_up(const std::string& why);
  void take_order(const ControlMessage& message);
  void take_nodes(const ControlMessage& message);
  void start_courier(courier::CourierConfig config);  // whose nodes are known, and how broadcasts pass them
  void tell(ControlKind kind, int rank = -1, int number = 0, const std::string& text = "");
  void job_agent_lost();
  void end_ranks();
  courier::Traffic traffic() const;
  void look_for_stillness(uint64_t now_ns);
  void tell_stillness(bool is_still, int round);
  void report_early();
  void report(bool is_last);
  std::string text_of_report() const;
  [[noreturn]] void finish();
  void end_ranks_that_are_left();
  void wait_for_parents();
  void clean_up();
  void report_last();
  void wait_for_end_of_job();

  const NodeOptions& options_;
  EventLoop loop_;
  LocalNode node_;
  std::string address_;  // of this host, for the others
  base::Descriptor courier_listener_;
  std::string spill_directories_;  // the courier's point into it
  std::unique_ptr<courier::Courier> courier_;
  std::unique_ptr<ControlConnection> job_;  // nullptr: it is gone
  std::optional<DeadlockWatch> deadlock_watch_;
  bool has_told_stillness_ = false;
  time_t started_ = 0;
  bool may_ranks_go_on_ = true;
  bool has_failed_ = false;
  bool has_given_up_ = false;
  bool has_reported_early_ = false;
  bool is_finished_ = false;
  size_t steps_begun_ = 0;  // of finish()
};

}  // namespace spillway::launch
