#include "launch/member_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "courier/sockets.h"
#include "launch/patience.h"
#include "launch/report.h"
#include "launch/stillness_vote.h"

namespace spillway::launch {
namespace {

constexpr int kJoinTimeoutMs = 10000;
constexpr uint64_t kLookNs = 100000000;
constexpr uint64_t kLookForParentsNs = 20000000;
constexpr uint64_t kPatienceWithParentsNs = 3000000000;  // a killed program that writes memory back takes a while
constexpr uint64_t kPatienceWithJobAgentNs = 5000000000;

// For base::fatal, which knows no agent.
struct FatalErrors {
  MemberAgent* agent = nullptr;
  pthread_t main_thread{};
  int pipe[2] = {-1, -1};  // of the courier's thread
};
FatalErrors fatal_errors;

// What has a cause of its own becomes a part of one.
std::string as_cause(std::string text) {
  constexpr std::string_view kMark = "\n  Cause:  ";
  const size_t mark = text.find(kMark);
  return mark == std::string::npos ? text : text.replace(mark, kMark.size(), ": ");
}

// What the ranks' standard streams are for must not stay open after them.
void close_standard_streams() {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  close(null);
}

}  // namespace

MemberAgent::MemberAgent(const NodeOptions& options) : options_(options), node_(loop_, options) {
  node_.report_to(*this);
}

int MemberAgent::run() {
  started_ = time(nullptr);
  signal(SIGPIPE, SIG_IGN);
  // A batch system that ends the job sends these to everybody. The end is the ranks' and the job's agent's affair; this
  // one clears up after them. It uses little processor time, and whatever else is sent to a job's processes is for its
  // ranks.
  for (int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU}) signal(number, SIG_IGN);
  if (!options_.refusal.empty()) return refuse_to_serve();
  if (!node_.listen(options_.member)) {
    if (errno == EADDRINUSE) return 0;
    throw std::system_error(errno, std::generic_category(), "cannot listen for the ranks");
  }
  if (!join()) return 1;
  try {
    take_fatal_errors();
    serve();
  } catch (const std::exception& error) {
    give_up(error.what());
  }
  finish();
}

// Until all is over, or the job's agent and the ranks' parents are gone.
void MemberAgent::serve() {
  std::optional<Patience> since_loss;
  while (!is_finished_) {
    uint64_t longest_ns = may_ranks_go_on_ ? node_.interval_ns() : 0;
    if (deadlock_watch_ && (longest_ns == 0 || longest_ns > DeadlockWatch::kIntervalNs))
      longest_ns = DeadlockWatch::kIntervalNs;
    if (job_ == nullptr) longest_ns = kLookForParentsNs;
    loop_.wait(longest_ns == 0 ? -1 : static_cast<int>(longest_ns / 1000000));
    const uint64_t now = base::now_ns();
    node_.pass_time(now, may_ranks_go_on_);
    look_for_stillness(now);
    if (job_ != nullptr) continue;
    if (!since_loss) since_loss.emplace(kLookForParentsNs, now);
    since_loss->look(now);
    if (!node_.has_parents() || since_loss->waited_ns() > kPatienceWithParentsNs) return;
  }
}

// From now on they are the job's.
void MemberAgent::take_fatal_errors() {
  if (pipe2(fatal_errors.pipe, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe2");
  loop_.watch(fatal_errors.pipe[0], EPOLLIN, [this] {
    char text[4096] = {};
    loop_.unwatch(fatal_errors.pipe[0]);
    if (read(fatal_errors.pipe[0], text, sizeof text - 1) <= 0) return;
    tell(ControlKind::courier_failed, -1, -1, text);
  });
  fatal_errors.agent = this;
  fatal_errors.main_thread = pthread_self();
  base::set_fatal_sink(pass_on_fatal);
}

bool MemberAgent::pass_on_fatal(const char* message) {
  if (pthread_equal(pthread_self(), fatal_errors.main_thread) != 0) fatal_errors.agent->give_up(message);
  [[maybe_unused]] const ssize_t written = write(fatal_errors.pipe[1], message, strlen(message) + 1);
  for (;;) pause();  // the job's agent ends all
}

// The job ends for this, and needs the agent until it has. When that fails, too, the agent ends the ranks itself.
void MemberAgent::give_up(const std::string& why) {
  if (!std::exchange(has_given_up_, true)) {
    try {
      node_gave_up(node_.host(), as_cause(why));
      serve();
    } catch (const std::exception&) {  // the job has its cause
    }
  }
  finish();
}

// The ranks of the node end when this agent does: by then the job's agent knows why.
int MemberAgent::refuse_to_serve() {
  if (!join()) {
    fprintf(stderr, "spillway: host %s cannot take part\n  Cause:  %s\n", node_.host().c_str(),
            options_.refusal.c_str());
    return 1;
  }
  node_gave_up(node_.host(), options_.refusal);
  wait_for_end_of_job();
  return 1;
}

void MemberAgent::wait_for_end_of_job() {
  Patience patience(kLookNs, base::now_ns());
  while (job_ != nullptr && patience.waited_ns() < kPatienceWithJobAgentNs) {  // until it closes
    loop_.wait(kLookNs / 1000000);
    patience.look(base::now_ns());
  }
}

bool MemberAgent::join() {
  std::istringstream where(options_.join);
  courier::NodeAddress address;
  where >> address.host >> address.port;
  base::Descriptor socket = courier::begin_connect(address);
  int error = socket ? 0 : errno;
  if (socket) {
    pollfd writable{socket.number(), POLLOUT, 0};
    error = poll(&writable, 1, kJoinTimeoutMs) == 1 ? courier::connect_error(socket.number()) : ETIMEDOUT;
  }
  if (error != 0) {
    fprintf(stderr,
            "spillway: host %s cannot reach the agent of the job at %s, port %u: %s\n"
            "  Cause:  the network between the two is cut or does not let them connect, or the job has ended.\n"
            "  Remedy: name an address of the job's host that all hosts can reach (--address).\n",
            node_.host().c_str(), address.host.c_str(), address.port, strerror(error));
    return false;
  }
  uint16_t port = 0;
  address_ = courier::own_host(socket.number());
  courier_listener_ = base::Descriptor(courier::listen_on_any_port(address_, port));
  if (!courier_listener_) throw std::system_error(errno, std::generic_category(), "cannot listen for other nodes");
  job_ = std::make_unique<ControlConnection>(
      loop_, std::move(socket), [this](const ControlMessage& order) { take_order(order); },
      [this] { job_agent_lost(); });
  job_->trust();
  tell(ControlKind::join, -1, port, options_.secret + "\n" + node_.host());
  return true;
}

void MemberAgent::take_order(const ControlMessage& order) {
  switch (order.kind) {
    case ControlKind::nodes:
      return take_nodes(order);
    case ControlKind::kill_rank:
      return node_.tell_parent(order.rank, node::MessageKind::kill);
    case ControlKind::release_rank:
      report_early();
      return node_.tell_parent(order.rank, node::MessageKind::release);
    case ControlKind::signal_parents:
      return node_.signal_parents(order.number);
    case ControlKind::mark_failed:
      has_failed_ = true;
      may_ranks_go_on_ = false;
      return node_.mark_failed();
    case ControlKind::how_still:
      if (!deadlock_watch_) return;
      return tell_stillness(has_told_stillness_ && deadlock_watch_->is_unchanged(traffic().fingerprint()),
                            order.number);
    case ControlKind::retire_rank:
      return node_.retire(order.rank);
    case ControlKind::refused:
      fprintf(stderr, "spillway: the agent of the job refuses host %s: %s\n", node_.host().c_str(), order.text.c_str());
      return job_agent_lost();
    case ControlKind::finish:
      has_failed_ = has_failed_ || order.number != 0;
      is_finished_ = true;
      return;
    default:
      return;
  }
}

void MemberAgent::take_nodes(const ControlMessage& message) {
  std::istringstream text(message.text);
  size_t node_count = 0;
  text >> node_count;
  std::vector<courier::NodeAddress> addresses(node_count);
  for (courier::NodeAddress& address : addresses) text >> address.host >> address.port;
  std::vector<uint32_t> ring(node_count);
  for (uint32_t& node : ring) text >> node;
  const routing::Selection selection = routing::read_selection(text);
  std::vector<node::RankPlace> places;
  std::vector<uint32_t> ranks_of(node_count);
  for (uint32_t node = 0; text >> node && node < node_count;) places.push_back({node, ranks_of[node]++});
  const auto own_number = static_cast<uint32_t>(message.number);
  node_.set_up(own_number, static_cast<uint32_t>(node_count), std::move(places));
  if (node_count > 1) {
    courier::CourierConfig config;
    config.nodes = std::move(addresses);
    config.ring = std::move(ring);
    config.selection = selection;
    start_courier(std::move(config));
  }
  if (options_.detects_deadlock) deadlock_watch_.emplace(node_.segment());
  close_standard_streams();  // what it could not start with stands there
}

void MemberAgent::start_courier(courier::CourierConfig config) {
  config.secret = options_.secret;
  config.bell = node_.courier_bell();
  config.listener = courier_listener_.release();
  config.spill_descriptors = node_.duplicate_message_spills();
  spill_directories_ = node_.spill_directories();
  config.directories = base::SpillDirectories::listed_in(spill_directories_.data());
  courier_ = std::make_unique<courier::Courier>(node_.map_segment_again(), config);
  loop_.watch(courier_->problem_descriptor(), EPOLLIN, [this] {
    loop_.unwatch(courier_->problem_descriptor());
    const courier::Problem problem = courier_->problem();
    tell(ControlKind::courier_failed, -1, problem.node, problem.text);
  });
  courier_->start();
}

// The only node of a job has no courier.
courier::Traffic MemberAgent::traffic() const {
  return courier_ != nullptr ? courier_->traffic() : courier::Traffic{true, 0, 0};
}

void MemberAgent::look_for_stillness(uint64_t now_ns) {
  if (!deadlock_watch_) return;
  const courier::Traffic moved = traffic();
  const bool is_still = deadlock_watch_->is_still(now_ns, moved.fingerprint()) && moved.is_idle;
  if (is_still != has_told_stillness_) tell_stillness(is_still, 0);
}

// When it is not, that stands until it is again.
void MemberAgent::tell_stillness(bool is_still, int round) {
  Stillness stillness;
  if (is_still) {
    const courier::Traffic moved = traffic();
    stillness = {moved.sent_frames, moved.received_frames, deadlock_watch_->waiting_ranks(),
                 deadlock_watch_->who_waits()};
  }
  has_told_stillness_ = is_still;
  tell(ControlKind::stillness, -1, round, is_still ? stillness.text() : "");
}

void MemberAgent::tell(ControlKind kind, int rank, int number, const std::string& text) {
  if (job_ == nullptr) return;
  const bool is_critical = rank >= 0 && node_.is_in_critical_section(rank);
  job_->send(ControlMessage{kind, rank, number, is_critical, text});
}

// Parents whose connection ends kill their ranks.
void MemberAgent::job_agent_lost() {
  job_.reset();
  end_ranks();
}

void MemberAgent::end_ranks() {
  has_failed_ = true;
  may_ranks_go_on_ = false;
  node_.mark_failed();
  node_.kill_all();
}

// Who started the ranks may kill what they leave as soon as their parents are gone, as Slurm does, and us with it.
void MemberAgent::report_early() {
  if (!std::exchange(has_reported_early_, true)) report(false);
}

void MemberAgent::report(bool is_last) {
  tell(ControlKind::report, -1, is_last ? 1 : 0, node_.is_set_up() ? text_of_report() : "\n");
}

std::string MemberAgent::text_of_report() const {
  std::string lines = node_report(node_.segment(), node_.host(), address_);
  if (courier_ == nullptr) return lines;
  for (uint32_t node = 0; node < node_.segment().header().node_count; ++node)
    lines += link_report(node, courier_->figures_of_link(node));
  return lines;
}

// Each step once: after an error in one the next ones still follow. A fatal one leads here again, by way of give_up().
void MemberAgent::finish() {
  constexpr void (MemberAgent::*kSteps[])() = {&MemberAgent::end_ranks_that_are_left, &MemberAgent::wait_for_parents,
                                               &MemberAgent::clean_up, &MemberAgent::report_last,
                                               &MemberAgent::wait_for_end_of_job};
  while (steps_begun_ < std::size(kSteps)) {
    const auto step = kSteps[steps_begun_++];
    try {
      (this->*step)();
    } catch (const std::exception&) {  // the job ends, for a reason of its own or for this agent's first error
    }
  }
  _exit(0);  // the courier's thread may be stuck in an error, and nothing is left to be undone
}

void MemberAgent::end_ranks_that_are_left() {
  if (!is_finished_) end_ranks();
}

// Those that were killed with the MPI launcher may still be ending, and hold files of the MPI library.
void MemberAgent::wait_for_parents() {
  Patience patience(kLookForParentsNs, base::now_ns());
  while (node_.has_parents() && patience.waited_ns() < kPatienceWithParentsNs) {
    loop_.wait(kLookForParentsNs / 1000000);
    patience.look(base::now_ns());
  }
}

void MemberAgent::clean_up() {
  node_.close();
  node_.remove_mpi_segments(has_failed_, started_);
}

// An agent on the job's own host may be killed from then on.
void MemberAgent::report_last() { report(true); }

void MemberAgent::parent_came(int rank, int pid) { tell(ControlKind::parent_came, rank, pid); }
void MemberAgent::program_started(int rank, int pid) { tell(ControlKind::program_started, rank, pid); }
void MemberAgent::program_never_started(int rank) { tell(ControlKind::program_never_started, rank); }
void MemberAgent::program_ended(int rank, int wait_status) { tell(ControlKind::program_ended, rank, wait_status); }
void MemberAgent::parent_lost(int rank) { tell(ControlKind::parent_lost, rank); }
void MemberAgent::library_came(int rank) { tell(ControlKind::library_came, rank); }
void MemberAgent::library_lost(int rank) { tell(ControlKind::library_lost, rank); }
void MemberAgent::rank_finalized(int rank) { tell(ControlKind::rank_finalized, rank); }
void MemberAgent::rank_left_finalize(int rank) { tell(ControlKind::rank_left_finalize, rank); }
void MemberAgent::rank_gave_up(int rank, const std::string& text, int wait_status) {
  tell(ControlKind::rank_gave_up, rank, wait_status, text);
}
void MemberAgent::node_gave_up(const std::string& /*host*/, const std::string& why) {
  tell(ControlKind::cannot_serve, -1, 0, why);
}
void MemberAgent::warn(const std::string& text) { tell(ControlKind::warning, -1, 0, text); }

}  // namespace spillway::launch
