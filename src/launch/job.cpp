#include "launch/job.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace spillway::launch {

using node::MessageKind;

namespace {

constexpr uint64_t kMillisecond = 1000000;
constexpr uint64_t kGraceAfterSignal = 5000 * kMillisecond;  // for programs that write a checkpoint on SIGTERM
constexpr uint64_t kGraceAfterKill =
    3000 * kMillisecond;  // a killed process that writes much memory back takes a while
constexpr uint64_t kGraceOfLauncher = 5000 * kMillisecond;
// It waits for the host that is lost.
constexpr uint64_t kGraceOfLauncherInVain = 500 * kMillisecond;
constexpr uint64_t kPatienceForCause = 300 * kMillisecond;
// A library's connection closes when its process begins to end, and the parent reports only when the kernel has taken
// down its memory.
constexpr uint64_t kPatienceForExit = 2000 * kMillisecond;

}  // namespace

Job::Job(Nodes& nodes, uint32_t world_size, std::string mpi_launcher_name, TellUser tell_user)
    : nodes_(nodes),
      mpi_launcher_name_(std::move(mpi_launcher_name)),
      tell_user_(std::move(tell_user)),
      ranks_(world_size) {}

void Job::parent_came(int rank, int /*pid*/) {
  Rank& entry = ranks_[rank];
  entry.has_parent = true;
  entry.has_parent_come = true;
  entry.has_ended = false;
  if (phase_ == Phase::running) return;
  nodes_.tell_parent(rank, MessageKind::kill);  // came too late
  if (phase_ == Phase::released) nodes_.tell_parent(rank, MessageKind::release);
}

void Job::program_started(int rank, int pid) { ranks_[rank].program_pid = pid; }

void Job::program_never_started(int rank) { ranks_[rank].has_ended = true; }

void Job::program_ended(int rank, int wait_status) {
  Rank& entry = ranks_[rank];
  entry.has_ended = true;
  const bool ended_well = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
  // It may have gone past its destructors (_exit) with a slot or room that others wait for; they go on if it was done,
  // or while they have time after a signal.
  if (entry.is_finalized || (entry.is_attached && phase_ == Phase::interrupted)) nodes_.retire(rank);
  if (phase_ == Phase::running) {
    if (entry.has_left_finalize) {
      if (!ended_well && !failure_) {  // its work is done, so the others go on; the first bad status is the job's
        failure_ = failure_of_exit(wait_status, Finalize::over);
        name_rank(*failure_, rank);
      }
    } else if (!ended_well) {  // others may wait for it, also in MPI_Finalize
      died(rank, failure_of_exit(wait_status, entry.is_finalized ? Finalize::called : Finalize::not_called));
    } else if (entry.is_attached && !entry.is_finalized) {
      fail(rank, failure_of_missing_finalize());
    }
  }
  judge_silent_exits();
  release_when_ended();
}

// Where the launcher is killed, what the ranks write finds nobody who reads it, and their ends may be noticed first.
void Job::died(int rank, Failure failure) {
  if (!failure.may_be_of_launcher) return fail(rank, std::move(failure));
  if (suspicion_ && !suspicion_->may_be_of_launcher) suspicion_.reset();  // a connection that was lost
  if (suspicion_) return;
  suspect(rank, std::move(failure), kPatienceForCause);
  first_to_die_ = rank;
}

// A rank that ended without having called MPI_Init leaves ranks that have called it waiting.
void Job::judge_silent_exits() {
  if (phase_ != Phase::running) return;
  if (std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& entry) { return entry.is_attached; })) return;
  for (size_t i = 0; i < ranks_.size(); ++i) {
    const bool is_end_reported = ranks_[i].has_ended && ranks_[i].has_parent;
    if (is_end_reported && !ranks_[i].is_attached) return fail(static_cast<int>(i), failure_of_missing_init());
  }
}

void Job::parent_lost(int rank) {
  Rank& entry = ranks_[rank];
  entry.has_parent = false;
  const bool had_ended = std::exchange(entry.has_ended, true);
  if (!had_ended)
    suspect(first_dead_parent_ < 0 ? rank : first_dead_parent_, failure_of_lost_parent(), kPatienceForCause);
  release_when_ended();
}

void Job::parent_died(int rank) {
  if (first_dead_parent_ < 0 && !ranks_[rank].has_ended) first_dead_parent_ = rank;
}

void Job::library_came(int rank) {
  ranks_[rank].is_attached = true;
  judge_silent_exits();
}

void Job::library_lost(int rank) {
  const Rank& entry = ranks_[rank];
  if (!entry.is_finalized && !entry.has_ended) suspect(rank, failure_of_lost_library(), kPatienceForExit);
}

void Job::rank_finalized(int rank) { ranks_[rank].is_finalized = true; }

void Job::rank_left_finalize(int rank) { ranks_[rank].has_left_finalize = true; }

void Job::rank_gave_up(int rank, const std::string& text, int wait_status) {
  fail(rank, failure_of_fatal(text, wait_status));
}

void Job::node_gave_up(const std::string& host, const std::string& why) {
  host_unreachable(failure_of_unsuitable_host(host, why));
}

// Nodes mostly have the same to say: the first one that does speaks for all.
void Job::warn(const std::string& text) {
  if (warnings_.insert(text).second) tell_user_("spillway: " + text + "\n");
}

void Job::interrupted(int signal_number) {
  if (phase_ == Phase::interrupted) return end_all();  // asked twice: no grace
  if (phase_ != Phase::running) return;
  failure_ = failure_of_interrupt(signal_number);
  phase_ = Phase::interrupted;
  phase_deadline_ns_ = base::now_ns() + kGraceAfterSignal;
  pass_on(signal_number);
  release_when_ended();
}

void Job::front_end_lost() {
  Failure failure;
  failure.what = "the front end `spillway run` was killed, and the job with it";
  failure.cause = "something outside the job ended it: a user, a batch system, or the kernel for want of memory";
  failure.remedy = "find out who sends the signal; look for an out-of-memory kill (dmesg)";
  failure.exit_status = 128 + SIGKILL;
  if (phase_ == Phase::interrupted) return end_all();
  fail(-1, std::move(failure));
}

void Job::launcher_ended(int wait_status) {
  if (phase_ != Phase::running) return;
  const bool any_started =
      std::any_of(ranks_.begin(), ranks_.end(), [](const Rank& entry) { return entry.has_parent_come; });
  // Killed, it takes the ranks' parents with it, and their loss may be noticed first.
  if (WIFSIGNALED(wait_status)) {
    suspicion_.reset();
    first_to_die_ = -1;
  }
  suspect(-1, failure_of_mpi_launcher(mpi_launcher_name_, wait_status, any_started), kPatienceForCause);
}

void Job::deadlocked(const std::string& who_waits) {
  Failure failure;
  failure.what = "the program is in a deadlock: every rank waits for another one\n" + who_waits;
  failure.cause = "each receive and collective above waits for a call that no rank has made or can make any more";
  failure.remedy = "compare sources, tags, communicators and the order of collective calls of these ranks";
  fail(-1, std::move(failure));
}

void Job::pass_on(int signal_number) { nodes_.signal_parents(signal_number); }

void Job::node_lost(const std::vector<int>& ranks, Failure failure) {
  for (int rank : ranks) {
    ranks_[rank].has_parent = false;
    ranks_[rank].has_ended = true;
  }
  has_lost_node_ = true;
  if (phase_ == Phase::interrupted) return release_when_ended();
  fail(-1, std::move(failure));
  release_when_ended();
}

void Job::name_rank(Failure& failure, int rank) const {
  failure.world_rank = rank;
  if (rank < 0) return;
  failure.pid = ranks_[rank].program_pid;
  failure.host = nodes_.host_of(rank);
  if (nodes_.is_in_critical_section(rank)) failure.what += " inside the critical section";
}

void Job::fail(int rank, Failure failure) {
  if (phase_ != Phase::running) return;
  // What others do when one has died is no cause.
  if (suspicion_ && rank >= 0 && first_to_die_ >= 0 && rank != first_to_die_) return;
  name_rank(failure, rank);
  failure_ = std::move(failure);
  end_all();
}

void Job::suspect(int rank, Failure failure, uint64_t patience_ns) {
  if (phase_ != Phase::running || suspicion_) return;
  name_rank(failure, rank);
  suspicion_ = std::move(failure);
  suspicion_deadline_ns_ = base::now_ns() + patience_ns;
}

void Job::end_all() {
  phase_ = Phase::ending;
  phase_deadline_ns_ = base::now_ns() + kGraceAfterKill;
  suspicion_.reset();
  nodes_.mark_failed();
  tell_all(MessageKind::kill);
  release_when_ended();
}

bool Job::have_all_ended() const {
  const bool must_have_come = phase_ == Phase::running;
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [&](const Rank& entry) { return entry.has_parent_come ? entry.has_ended : !must_have_come; });
}

void Job::release_when_ended() {
  if (phase_ == Phase::released || suspicion_ || !have_all_ended()) return;
  release_all();
}

void Job::release_all() {
  phase_ = Phase::released;
  phase_deadline_ns_ = base::now_ns() + (has_lost_node_ ? kGraceOfLauncherInVain : kGraceOfLauncher);
  tell_all(MessageKind::release);
}

void Job::tell_all(MessageKind kind) {
  for (size_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i].has_parent) nodes_.tell_parent(static_cast<int>(i), kind);
}

uint64_t Job::deadline_ns() const { return suspicion_ ? suspicion_deadline_ns_ : phase_deadline_ns_; }

void Job::pass_time(uint64_t now_ns) {
  if (suspicion_ && now_ns >= suspicion_deadline_ns_) {
    failure_ = std::move(*suspicion_);
    return end_all();
  }
  if (suspicion_ || phase_deadline_ns_ == 0 || now_ns < phase_deadline_ns_) return;
  if (phase_ == Phase::interrupted) return end_all();
  if (phase_ == Phase::ending) return release_all();
  gave_up_on_launcher_ = true;
  phase_deadline_ns_ = 0;
}

int Job::exit_status() const { return failure_ ? failure_->exit_status : 0; }

}  // namespace spillway::launch
