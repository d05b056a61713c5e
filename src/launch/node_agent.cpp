#include "launch/node_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <vector>

#include "base/clock.h"
#include "launch/descendants.h"
#include "launch/message_spill_file.h"
#include "launch/report.h"

namespace spillway::launch {
namespace {

constexpr int kEndingSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
constexpr int kPassedSignals[] = {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

constexpr uint64_t kSecond = 1000000000;

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

node::Segment make_segment(const NodeOptions& options) {
  node::SegmentConfig config;
  config.rank_count = options.rank_count;
  config.slot_count = options.slot_count;
  config.budget_bytes = options.budget_bytes;
  config.cpu_count = options.cpu_count;
  config.strategy = options.strategy;
  config.keeps_checksums = options.keeps_checksums;
  return node::Segment::create(config);
}

Descriptor make_signal_descriptor() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int number : kEndingSignals) sigaddset(&set, number);
  for (int number : kPassedSignals) sigaddset(&set, number);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

// Two connections per rank, and some to spare; most systems allow 1024 unless asked.
void allow_descriptors(uint32_t rank_count) {
  const rlim_t wanted = 64 + 3 * static_cast<rlim_t>(rank_count);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min(limit.rlim_max, wanted);
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string last_component(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

NodeAgent::NodeAgent(NodeOptions options)
    : options_(std::move(options)),
      host_(host_name()),
      report_(options_.report_descriptor),
      message_spills_(make_message_spill_files(options_.spill_directories)),
      segment_(make_segment(options_)),
      courier_bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      job_(segment_, last_component(options_.command[0])),
      deadlock_watch_(segment_),
      slot_lender_(segment_) {}

int NodeAgent::run() {
  const uint64_t started_ns = base::now_ns();
  allow_descriptors(options_.rank_count);
  if (report_) fcntl(report_.number(), F_SETFD, FD_CLOEXEC);
  const std::string name = random_socket_name();
  listener_ = listen_on(name);
  if (!listener_) throw std::system_error(errno, std::generic_category(), "cannot listen for the ranks");
  signals_ = make_signal_descriptor();
  events_ = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  watch(listener_.number(), EPOLLIN);
  watch(signals_.number(), EPOLLIN);
  if (report_) watch(report_.number(), 0);  // EPOLLERR comes unasked when the reader is gone
  launcher_.start(options_, name);

  uint64_t killed_launcher_ns = 0;
  while (!launcher_.has_ended() || job_.is_running()) {
    const int descriptor = wait_for_event();
    if (descriptor >= 0) handle_event(descriptor);
    pass_time();
    if (job_.gave_up_on_launcher() && killed_launcher_ns == 0) {
      killed_launcher_ns = base::now_ns();
      launcher_.kill_all();
    }
  }
  return finish(started_ns);
}

void NodeAgent::watch(int descriptor, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = descriptor;
  if (epoll_ctl(events_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0 && errno != EPERM)  // EPERM: a regular file
    throw std::system_error(errno, std::generic_category(), "cannot watch a descriptor");
}

int NodeAgent::wait_for_event() {
  const uint64_t now = base::now_ns();
  uint64_t deadline = job_.deadline_ns();
  const auto wake_within = [&](uint64_t interval_ns) {
    deadline = deadline == 0 ? now + interval_ns : std::min(deadline, now + interval_ns);
  };
  if (options_.detects_deadlock && job_.is_running()) wake_within(DeadlockWatch::kIntervalNs);
  if (job_.may_ranks_go_on()) wake_within(SlotLender::kIntervalNs);
  int timeout_ms = -1;
  if (deadline != 0) timeout_ms = deadline <= now ? 0 : static_cast<int>((deadline - now) / 1000000 + 1);
  epoll_event event{};
  return epoll_wait(events_.number(), &event, 1, timeout_ms) == 1 ? event.data.fd : -1;
}

void NodeAgent::handle_event(int descriptor) {
  if (descriptor == listener_.number()) return take_connections();
  if (descriptor == signals_.number()) return take_signals();
  if (descriptor == report_.number()) {
    report_.close();
    launcher_.follow(SIGCONT);
    return job_.front_end_lost();
  }
  take_messages(descriptor);
}

void NodeAgent::pass_time() {
  const uint64_t now = base::now_ns();
  job_.pass_time(now);
  if (job_.may_ranks_go_on()) slot_lender_.look(now);
  if (options_.detects_deadlock && job_.is_running() && deadlock_watch_.looks_deadlocked(now))
    job_.deadlocked(deadlock_watch_.who_waits());
}

void NodeAgent::take_signals() {
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

void NodeAgent::take_connections() {
  Peer peer = accept_peer(listener_.number());
  if (!peer.socket) return;
  const int socket = peer.socket.number();
  watch(socket, EPOLLIN);
  Connection& connection = connections_[socket];
  connection.socket = std::move(peer.socket);
  connection.pid = peer.pid;
}

void NodeAgent::take_messages(int socket) {
  for (;;) {
    const auto found = connections_.find(socket);
    if (found == connections_.end()) return;
    AttachMessage message;
    switch (receive_message(socket, message)) {
      case Received::nothing:
        return;
      case Received::closed:
        return lose(socket);
      case Received::foreign:
        send_message(socket,
                     make_message(MessageKind::refused,
                                  "the node agent is of another version of Spillway than this process; build and "
                                  "install all of it together"));
        return lose(socket);
      case Received::message:
        take_message(found->second, message);
    }
  }
}

void NodeAgent::take_message(Connection& connection, const AttachMessage& message) {
  const auto kind = static_cast<MessageKind>(message.kind);
  if (kind == MessageKind::hello) return greet(connection, message);
  if (connection.rank < 0) return;
  switch (kind) {
    case MessageKind::started:
      return job_.program_started(connection.rank, message.pid);
    case MessageKind::exited:
      drain_library_of(connection.rank);  // what it said last comes before how it ended
      return job_.program_ended(connection.rank, message.wait_status);
    case MessageKind::fatal:
      if (connection.role == node::Role::rank_parent) job_.program_never_started(connection.rank);
      return job_.rank_gave_up(connection.rank, message.text, message.wait_status);
    case MessageKind::finalized:
      return job_.rank_finalized(connection.rank);
    case MessageKind::cannot_stop_threads:
      return warn_of_threads();
    default:
      return;
  }
}

void NodeAgent::warn_of_threads() {
  if (std::exchange(has_warned_of_threads_, true)) return;
  fprintf(stderr,
          "spillway: the threads of a rank cannot be stopped while its memory is unloaded (host %s)\n"
          "  Cause:  the system does not let a process trace its children (ptrace), or a debugger has them already.\n"
          "  Effect: what a thread writes to large arrays while its rank is blocked in MPI can be lost, and ranks of "
          "which several threads\n          call MPI are not unloaded. Programs with one thread per rank are not "
          "affected.\n"
          "  Remedy: in a container, allow ptrace (--cap-add SYS_PTRACE); else run without the debugger.\n",
          host_.c_str());
}

void NodeAgent::greet(Connection& connection, const AttachMessage& hello) {
  const int rank = hello.world_rank;
  const int rank_count = static_cast<int>(options_.rank_count);
  const auto refuse = [&](const std::string& why) {
    send_message(connection.socket.number(), make_message(MessageKind::refused, why));
  };
  if (rank < 0 || rank >= rank_count)
    return refuse("the MPI launcher does not say which rank this process is (of " + std::to_string(rank_count) + ")");
  connection.role = static_cast<node::Role>(hello.role);
  if (connection.role == node::Role::rank_parent) {
    connection.rank = rank;
    return job_.parent_came(rank, connection.socket.number(), connection.pid);
  }
  if (hello.world_size != rank_count)
    return refuse("MPI_COMM_WORLD has " + std::to_string(hello.world_size) + " ranks, but this node runs " +
                  std::to_string(rank_count) + ": jobs over more than one node are not supported in this version");
  connection.rank = rank;
  std::vector<int> descriptors = {segment_.descriptor(), courier_bell_.number()};
  for (const Descriptor& file : message_spills_) descriptors.push_back(file.number());
  send_message(connection.socket.number(), make_message(MessageKind::welcome), descriptors);
  segments_left_.note(hello.pid);
  job_.library_came(rank);
}

void NodeAgent::drain_library_of(int rank) {
  std::vector<int> sockets;
  for (const auto& [socket, connection] : connections_)
    if (connection.rank == rank && connection.role == node::Role::rank_library) sockets.push_back(socket);
  for (int socket : sockets) take_messages(socket);
}

void NodeAgent::lose(int socket) {
  const auto found = connections_.find(socket);
  const Connection connection = std::move(found->second);
  connections_.erase(found);
  if (connection.rank < 0) return;
  if (connection.role == node::Role::rank_parent) return job_.parent_lost(connection.rank);
  job_.library_lost(connection.rank);
}

int NodeAgent::finish(uint64_t started_ns) {
  JobOutcome outcome;
  outcome.wall_ns = base::now_ns() - started_ns;
  listener_.close();
  connections_.clear();
  end_descendants();
  outcome.failure = job_.failure();
  if (outcome.failure) segments_left_.note_orphans(time(nullptr) - static_cast<time_t>(outcome.wall_ns / kSecond));
  segments_left_.remove();
  launcher_.finish_output();
  outcome.host = host_;
  outcome.exit_status = job_.exit_status();
  if (outcome.failure) {
    quote_launcher(*outcome.failure, launcher_.own_errors());
    fputs(describe(*outcome.failure, host_).c_str(), stderr);
  }
  if (report_) write_report(report_.number(), segment_, outcome);
  return outcome.exit_status;
}

}  // namespace spillway::launch
