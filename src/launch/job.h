// The life of one job, and every decision about its end.
//
//   running ----- all ranks ended well --------------------------------> released --> launcher gone
//      |  \------ signal ---> interrupted -- all ended, or 5 s ------>------^
//      \--------- first failure ------------> ending -- all ended, 3 s -----^
//
// No rank's parent exits before `released`, so the MPI launcher sees every rank come to an end at the same time, and
// well; what the job's exit status is, and the message, come from here. The first failure wins: what follows from it
// (ranks killed, connections lost) is not reported. Some events are only symptoms, whose cause may be on its way in
// another socket (a library's connection that closes, the launcher that ends): they become a suspicion, which turns
// into a failure unless a better one comes soon.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "launch/failure.h"
#include "launch/job_events.h"

namespace spillway::launch {

class Job final : public JobEvents {
 public:
  using TellUser = std::function<void(const std::string&)>;

  // Warnings are told to the user by `tell_user`, which must not wait.
  Job(Nodes& nodes, uint32_t world_size, std::string mpi_launcher_name, TellUser tell_user);

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

  // Events of the job.
  void interrupted(int signal_number);
  void front_end_lost();
  void launcher_ended(int wait_status);
  void deadlocked(const std::string& who_waits);
  void pass_on(int signal_number);
  // The node of these ranks is out of reach, for whatever reason `failure` gives.
  void node_lost(const std::vector<int>& ranks, Failure failure);
  // Some ranks will never come.
  void host_unreachable(Failure failure) {
    has_lost_node_ = true;
    fail(-1, std::move(failure));
  }
  // What a node says of another one, or of itself, whose cause may be on its way.
  void node_in_trouble(Failure failure) { suspect(-1, std::move(failure), kPatienceWithNode); }

  bool is_running() const { return phase_ == Phase::running; }
  // Whose loss the node is going to report. MPI launchers kill all ranks' parents when they lose one, and a node that
  // reports sooner than another one would name the wrong rank: told this, the job knows whose was the first.
  void parent_died(int rank);

  // Also after a signal that the ranks may act on.
  bool may_ranks_go_on() const { return phase_ == Phase::running || phase_ == Phase::interrupted; }
  // The job is over, and the launcher must be killed since it does not end by itself.
  bool gave_up_on_launcher() const { return gave_up_on_launcher_; }
  // When pass_time wants to be called; 0: not at all.
  uint64_t deadline_ns() const;
  void pass_time(uint64_t now_ns);

  const std::optional<Failure>& failure() const { return failure_; }
  int exit_status() const;

 private:
  static constexpr uint64_t kPatienceWithNode = 1000000000;  // nanoseconds

  enum class Phase { running, interrupted, ending, released };

  struct Rank {
    int program_pid = 0;
    bool has_parent_come = false;
    bool has_parent = false;
    bool is_attached = false;
    bool is_finalized = false;
    bool has_left_finalize = false;
    bool has_ended = false;
  };

  void name_rank(Failure& failure, int rank) const;
  void died(int rank, Failure failure);
  void fail(int rank, Failure failure);
  void suspect(int rank, Failure failure, uint64_t patience_ns);
  void end_all();
  void release_when_ended();
  void release_all();
  bool have_all_ended() const;
  void judge_silent_exits();
  void tell_all(node::MessageKind kind);

  Nodes& nodes_;
  std::string mpi_launcher_name_;
  TellUser tell_user_;
  std::vector<Rank> ranks_;
  Phase phase_ = Phase::running;
  uint64_t phase_deadline_ns_ = 0;
  std::optional<Failure> failure_;
  int first_dead_parent_ = -1;  // of a rank that had not ended; -1: none is known
  std::optional<Failure> suspicion_;
  uint64_t suspicion_deadline_ns_ = 0;
  int first_to_die_ = -1;  // of what may be the launcher's end: the rank that is suspected
  bool gave_up_on_launcher_ = false;
  std::set<std::string> warnings_;
  bool has_lost_node_ = false;
};

}  // namespace spillway::launch
