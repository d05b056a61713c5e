#include "launch/job_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "launch/descendants.h"
#include "launch/mpi_session.h"
#include "launch/patience.h"
#include "launch/report.h"
#include "launch/stillness_vote.h"

namespace spillway::launch {
namespace {

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
constexpr int kPassedSignals[] = {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

constexpr uint64_t kSecond = 1000000000;
constexpr int kLookForReportsMs = 100;
constexpr uint64_t kPatienceForReports = 3 * kSecond;
constexpr uint64_t kPatienceForReportsOfSuccess = 8 * kSecond;  // an agent that is stopped is killed meanwhile
// Open MPI's launcher does not wait for its srun, whose nodes stay occupied for seconds when it is killed.
constexpr uint64_t kPatienceWithSrun = kSecond;

base::Descriptor make_signal_descriptor() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int number : kEndingSignals) sigaddset(&set, number);
  for (int number : kPassedSignals) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return base::Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string own_program() {
  char path[PATH_MAX] = {};
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length < 0) throw std::system_error(errno, std::generic_category(), "cannot find this program's own file");
  return path;
}

std::vector<node::RankPlace> places_on_one_node(uint32_t rank_count) {
  std::vector<node::RankPlace> places;
  for (uint32_t i = 0; i < rank_count; ++i) places.push_back(node::RankPlace{0, i});
  return places;
}

}  // namespace

JobAgent::JobAgent(NodeOptions options)
    : options_(std::move(options)),
      report_(options_.report_descriptor),
      job_(nodes(), options_.rank_count, last_component(options_.command[0]),
           [this](const std::string& text) { launcher_.say(text); }) {
  if (nodes_) {
    nodes_->report_to(job_);
    return;
  }
  node_->report_to(job_);
  node_->set_up(0, 1, places_on_one_node(options_.rank_count));
  if (options_.detects_deadlock) deadlock_watch_.emplace(node_->segment());
}

Nodes& JobAgent::nodes() {
  if (has_several_nodes()) return nodes_.emplace(loop_, options_);
  return node_.emplace(loop_, options_);
}

int JobAgent::run() {
  const uint64_t started_ns = base::now_ns();
  if (report_) fcntl(report_.number(), F_SETFD, FD_CLOEXEC);
  const std::string name = random_socket_name();
  if (node_ && !node_->listen(name))
    throw std::system_error(errno, std::generic_category(), "cannot listen for the ranks");
  signals_ = make_signal_descriptor();
  loop_.watch(signals_.number(), EPOLLIN, [this] { take_signals(); });
  // EPOLLERR comes unasked when the reader is gone.
  if (report_)
    loop_.watch(report_.number(), 0, [this] {
      loop_.unwatch(report_.number());
      report_.close();
      launcher_.follow(SIGCONT);
      job_.front_end_lost();
    });
  launcher_.start(options_, name, settings_of_ranks());

  uint64_t killed_launcher_ns = 0;
  while (!launcher_.has_ended() || job_.is_running()) {
    loop_.wait_for_all(timeout_ms());
    pass_time();
    if (job_.gave_up_on_launcher() && killed_launcher_ns == 0) {
      killed_launcher_ns = base::now_ns();
      launcher_.kill_all();
    }
  }
  return finish(started_ns);
}

std::map<std::string, std::string> JobAgent::settings_of_ranks() const {
  if (!has_several_nodes()) return {};
  return {{node::kRanksPerNodeVariable, std::to_string(options_.ranks_per_node)},
          {node::kNodeCommandVariable, node_command_of(options_, own_program())},
          {node::kJoinVariable, nodes_->where_to_join()},
          {node::kSecretVariable, nodes_->secret()}};
}

int JobAgent::timeout_ms() const {
  const uint64_t now = base::now_ns();
  uint64_t deadline = job_.deadline_ns();
  const auto wake_within = [&](uint64_t interval_ns) {
    if (interval_ns != 0) deadline = deadline == 0 ? now + interval_ns : std::min(deadline, now + interval_ns);
  };
  if (deadlock_watch_ && job_.is_running()) wake_within(DeadlockWatch::kIntervalNs);
  if (nodes_ && (nodes_->have_been_released() || (job_.is_running() && !nodes_->have_all_come())))
    wake_within(RemoteNodes::kIntervalNs);
  if (node_ && job_.may_ranks_go_on()) wake_within(node_->interval_ns());
  if (deadline == 0) return -1;
  return deadline <= now ? 0 : static_cast<int>((deadline - now) / 1000000 + 1);
}

void JobAgent::pass_time() {
  const uint64_t now = base::now_ns();
  job_.pass_time(now);
  if (nodes_ && job_.is_running())
    if (auto failure = nodes_->look_for_missing_ranks(now)) job_.host_unreachable(std::move(*failure));
  if (nodes_) nodes_->look_after_release(now);
  if (node_) node_->pass_time(now, job_.may_ranks_go_on());
  if (deadlock_watch_ && job_.is_running() && deadlock_watch_->is_still(now) && deadlock_watch_->waiting_ranks() != 0)
    job_.deadlocked(first_waiting(deadlock_watch_->who_waits(), deadlock_watch_->waiting_ranks()));
}

void JobAgent::take_signals() {
  signalfd_siginfo signal{};
  while (read(signals_.number(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    const int number = static_cast<int>(signal.ssi_signo);
    if (number == SIGCHLD) {
      if (!launcher_.has_ended() && launcher_.reap()) job_.launcher_ended(launcher_.wait_status());
    } else if (std::find(std::begin(kEndingSignals), std::end(kEndingSignals), number) != std::end(kEndingSignals)) {
      job_.interrupted(number);
      launcher_.follow(SIGCONT);
    } else {
      job_.pass_on(number);
      launcher_.follow(number);
    }
  }
}

void JobAgent::wait_for_reports() {
  const uint64_t most_ns = job_.failure() ? kPatienceForReports : kPatienceForReportsOfSuccess;
  Patience patience(kLookForReportsMs * uint64_t{1000000}, base::now_ns());
  while (!nodes_->have_all_reported() && patience.waited_ns() < most_ns) {
    loop_.wait(kLookForReportsMs);
    patience.look(base::now_ns());
    nodes_->look_after_release(base::now_ns());
  }
}

int JobAgent::finish(uint64_t started_ns) {
  JobOutcome outcome;
  outcome.failure = job_.failure();
  outcome.wall_ns = base::now_ns() - started_ns;
  std::vector<std::string> reports;
  if (nodes_) {
    nodes_->finish(job_.failure().has_value());
    wait_for_reports();
    reports = nodes_->reports();
    if (outcome.failure)
      nodes_->explain(*outcome.failure);
    else if (!nodes_->silent_hosts().empty())
      launcher_.say(text_of_silent_hosts(nodes_->silent_hosts()));
    nodes_.reset();  // so that their agents end
    let_descendants_end(kPatienceWithSrun);
  } else {
    node_->close();
  }
  const std::vector<Endless> endless = end_descendants();
  if (options_.has_sessions) remove_session(session_of_launcher(launcher_.process()));
  if (node_) {
    node_->remove_mpi_segments(outcome.failure.has_value(),
                               time(nullptr) - static_cast<time_t>(outcome.wall_ns / kSecond));
    reports = {node_report(node_->segment(), node_->host())};
  }
  launcher_.finish_output(!endless.empty());
  outcome.exit_status = job_.exit_status();
  if (outcome.failure) {
    quote_launcher(*outcome.failure, launcher_.own_errors());
    if (!endless.empty()) outcome.failure->cause += "; " + text_of_endless(endless);
    fputs(describe(*outcome.failure).c_str(), stderr);
  } else if (!endless.empty()) {
    fprintf(stderr, "spillway: %s\n", text_of_endless(endless).c_str());
  }
  if (report_) write_report(report_.number(), outcome, reports);
  return outcome.exit_status;
}

}  // namespace spillway::launch
