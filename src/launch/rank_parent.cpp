#include "launch/rank_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "launch/agent_guard.h"
#include "launch/descendants.h"
#include "launch/mpi_session.h"

namespace spillway::launch {
namespace {

// What the launchers of the known MPI libraries tell a process about its place in MPI_COMM_WORLD.
constexpr const char* kRankVariables[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};

constexpr int kForwardedSignals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

// And about its place among those of its host.
constexpr const char* kLocalRankVariables[] = {"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"};

int number_in(std::span<const char* const> variables) {
  for (const char* variable : variables)
    if (const char* value = getenv(variable)) return atoi(value);
  return -1;
}

sigset_t supervised_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (int number : kForwardedSignals) sigaddset(&set, number);
  return set;
}

// Ours comes first, so that it sees an MPI call before any other preloaded tool does.
void put_preload_into_environment() {
  const char* library = getenv(node::kPreloadVariable);
  if (library == nullptr || *library == '\0') return;
  const char* others = getenv("LD_PRELOAD");
  std::string preload = library;
  if (others != nullptr && *others != '\0') preload = preload + ":" + others;
  setenv("LD_PRELOAD", preload.c_str(), 1);
}

// Until an agent that has been started listens, or has ended.
constexpr int kPauseBetweenLooksMs = 10;
constexpr int kMostLooks = 1000;
constexpr int kMostLooksAtDyingLauncher = 100;
constexpr int kKeptByAgent = STDERR_FILENO + 1;  // the end of a pipe, by which its starter sees that it has ended

[[noreturn]] void become_guard(pid_t agent, pid_t daemon) {
  if (agent < 0) perror("spillway-rank: cannot start the agent of this node");
  std::string name = kGuardName, pid = std::to_string(agent), pid_of_daemon = std::to_string(daemon);
  char* arguments[] = {name.data(), pid.data(), pid_of_daemon.data(), nullptr};
  close_range(0, ~0U, 0);
  if (agent > 0) execv("/proc/self/exe", arguments);
  _exit(1);
}

[[noreturn]] void become_agent(const std::string& name, const sigset_t& signals, int kept, pid_t daemon) {
  setsid();
  if (fork() != 0) _exit(0);  // so that it is nobody's child here
  const pid_t agent = fork();
  if (agent != 0) become_guard(agent, daemon);
  setpgid(0, 0);  // who stops it with its group does not stop the guard
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  const char* command = getenv(node::kNodeCommandVariable);
  std::istringstream words(command != nullptr ? command : "");
  std::vector<std::string> arguments;
  for (std::string word; std::getline(words, word);) arguments.push_back(word);
  arguments.insert(arguments.end(), {"--member", name});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  // The MPI launcher waits until everybody has closed what it has given the rank.
  if (kept != kKeptByAgent) dup2(kept, kKeptByAgent);
  fcntl(kKeptByAgent, F_SETFD, 0);
  close_range(kKeptByAgent + 1, ~0U, 0);
  execv(pointers[0], pointers.data());
  perror("spillway-rank: cannot start the agent of this node");
  _exit(1);
}

// The reading end of a pipe that the agent keeps open; nothing if it could not be started.
base::Descriptor start_agent(const std::string& name, const sigset_t& signals) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return base::Descriptor();
  base::Descriptor reading_end(ends[0]);
  const base::Descriptor kept(ends[1]);
  const pid_t daemon = getppid();
  const pid_t child = fork();
  if (child == 0) become_agent(name, signals, kept.number(), daemon);
  return child > 0 && waitpid(child, nullptr, 0) == child ? std::move(reading_end) : base::Descriptor();
}

// Until the agent listens or, having said why, has ended.
base::Descriptor start_and_connect(const std::string& name, const sigset_t& signals) {
  base::Descriptor agent;
  const base::Descriptor started = start_agent(name, signals);
  for (bool has_ended = !started; !agent && !has_ended; agent = connect_to(name)) {
    pollfd end{started.number(), 0, 0};
    has_ended = poll(&end, 1, kPauseBetweenLooksMs) == 1;
  }
  return agent;
}

const char* remedy_for_exec(int error) {
  switch (error) {
    case ENOENT:
      return "check the program's name and path; for a script, that the interpreter of its first line exists";
    case EACCES:
      return "make it executable (chmod +x), and its directories searchable";
    case ENOEXEC:
      return "it is neither a program for this machine nor a script with a `#!` line";
    default:
      return "start the program once by itself to see whether it runs on this machine";
  }
}

// The launcher of a job on one node dies with the agent that has started it. On several, that is for the guard to do.
void remove_session_of(pid_t launcher) {
  const std::string session = session_of_daemon();
  if (session.empty() || getenv(node::kRanksPerNodeVariable) != nullptr) return;
  for (int look = 0; look < kMostLooksAtDyingLauncher && getppid() == launcher; ++look)
    usleep(kPauseBetweenLooksMs * 1000);
  if (getppid() != launcher) remove_session(session);
}

}  // namespace

int RankParent::run() {
  const time_t begin = time(nullptr);
  const pid_t launcher = getppid();
  world_rank_ = number_in(kRankVariables);
  const sigset_t set = supervised_signals();
  sigprocmask(SIG_BLOCK, &set, &original_signals_);
  signals_ = base::Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!attach_to_agent()) return 1;
  adopt_orphans();  // but not the node's agent
  if (!listen_for_program()) return 1;
  if (!start_program()) exit_status_ = 127;
  supervise();
  end_descendants();  // what the program left running
  if (!agent_) segments_.note_orphans(begin);
  segments_.remove();
  if (!agent_) remove_session_of(launcher);
  return exit_status_;
}

bool RankParent::attach_to_agent() {
  const char* name = getenv(node::kSocketVariable);
  const char* ranks_per_node = getenv(node::kRanksPerNodeVariable);
  if (name != nullptr && ranks_per_node != nullptr)
    agent_ = agent_of_node(name, atoi(ranks_per_node));
  else if (name != nullptr)
    agent_ = connect_to(name);
  if (!agent_) {
    if (!has_agent_said_why_)
      fprintf(stderr, "spillway-rank: cannot reach the node agent; start the program with `spillway run`\n");
    return false;
  }
  AttachMessage hello = make_message(MessageKind::hello);
  hello.role = static_cast<uint32_t>(node::Role::rank_parent);
  hello.world_rank = world_rank_;
  hello.pid = getpid();
  return send_message(agent_.number(), hello);
}

// The first rank of a node to come starts its agent; the others wait until it listens, or the first one has given up.
base::Descriptor RankParent::agent_of_node(const std::string& job, int ranks_per_node) {
  std::string name = job;
  if (ranks_per_node > 0) {
    const int local_rank = number_in(kLocalRankVariables);
    name.append("-").append(std::to_string((local_rank >= 0 ? local_rank : world_rank_) / ranks_per_node));
  }
  setenv(node::kSocketVariable, name.c_str(), 1);
  const std::string starting = name + "-starting";
  for (int look = 0; look < kMostLooks; ++look, usleep(kPauseBetweenLooksMs * 1000)) {
    base::Descriptor agent = connect_to(name);
    if (agent) return agent;
    const base::Descriptor first = listen_on(starting);
    if (first) {
      agent = connect_to(name);  // another one may have started it just now
      if (agent) return agent;
      agent = start_and_connect(name, original_signals_);
      has_agent_said_why_ = !agent;
      return agent;
    }
    const base::Descriptor other = connect_to(starting);  // which ends when the first one is done
    if (!other) continue;                                 // it is done just now, or does not listen yet
    pollfd end{other.number(), 0, 0};
    while (!agent && poll(&end, 1, kPauseBetweenLooksMs) == 0) agent = connect_to(name);
    if (!agent) agent = connect_to(name);
    has_agent_said_why_ = !agent;
    return agent;
  }
  return base::Descriptor();  // the system has no sockets left, or another user has taken the name
}

bool RankParent::listen_for_program() {
  const std::string name = random_socket_name();
  listener_ = listen_on(name);
  if (!listener_) perror("spillway-rank: cannot listen for the program");
  setenv(node::kParentVariable, name.c_str(), 1);
  return static_cast<bool>(listener_);
}

bool RankParent::start_program() {
  int failure_pipe[2];  // closed by a successful exec, else carries errno
  if (pipe2(failure_pipe, O_CLOEXEC) != 0) return false;
  const pid_t self = getpid();
  program_ = fork();
  if (program_ == 0) become_program(failure_pipe[1], self);
  const int fork_error = errno;
  close(failure_pipe[1]);
  int error = program_ < 0 ? fork_error : 0;
  if (program_ > 0) {
    while (read(failure_pipe[0], &error, sizeof error) < 0 && errno == EINTR) continue;
  }
  close(failure_pipe[0]);
  if (error == 0) {
    AttachMessage started = make_message(MessageKind::started);
    started.pid = program_;
    send_message(agent_.number(), started);
    return true;
  }
  if (program_ > 0) waitpid(program_, nullptr, 0);
  program_ = 0;
  AttachMessage failure = make_message(MessageKind::fatal);
  failure.wait_status = (error == ENOENT ? 127 : 126) << 8;
  snprintf(failure.text, sizeof failure.text, "cannot start %.200s: %s; %s", arguments_[0], strerror(error),
           remedy_for_exec(error));
  send_message(agent_.number(), failure);
  return false;
}

void RankParent::become_program(int failure_pipe, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent was gone before the line above
  sigprocmask(SIG_SETMASK, &original_signals_, nullptr);
  put_preload_into_environment();
  execvp(arguments_[0], arguments_);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(failure_pipe, &error, sizeof error);
  _exit(127);
}

void RankParent::supervise() {
  while (!is_released_ || program_ > 0) {
    const bool is_asked = static_cast<bool>(stop_request_.socket);
    pollfd waits[] = {{agent_.number(), POLLIN, 0},
                      {signals_.number(), POLLIN, 0},
                      {is_asked ? stop_request_.socket.number() : listener_.number(), POLLIN, 0}};
    if (poll(waits, 3, -1) < 0 && errno != EINTR) return;
    if (waits[1].revents != 0) take_signal();
    if (agent_ && waits[0].revents != 0) take_message();
    if (waits[2].revents == 0) continue;
    if (is_asked)
      take_stop_request();
    else
      stop_request_ = accept_peer(listener_.number());
  }
}

// One at a time: a second one waits in the listener.
void RankParent::take_stop_request() {
  AttachMessage message;
  const Received received = receive_message(stop_request_.socket.number(), message);
  if (received == Received::nothing) return;
  if (received == Received::message && static_cast<MessageKind>(message.kind) == MessageKind::stop_threads)
    return stop_threads(message.pid);
  threads_.let_go();
  stop_request_.socket.close();
}

void RankParent::stop_threads(int thread) {
  const node::ThreadStop result = threads_.stop(stop_request_.pid, thread);
  if (result == node::ThreadStop::not_allowed && !std::exchange(has_complained_, true))
    send_message(agent_.number(), make_message(MessageKind::cannot_stop_threads));
  AttachMessage reply = make_message(MessageKind::threads_stopped);
  reply.wait_status = static_cast<int32_t>(result);
  send_message(stop_request_.socket.number(), reply);
}

void RankParent::take_message() {
  AttachMessage message;
  const Received received = receive_message(agent_.number(), message);
  if (received == Received::nothing) return;
  if (received != Received::message) {
    agent_.close();
    is_released_ = true;
    return kill_program();
  }
  switch (static_cast<MessageKind>(message.kind)) {
    case MessageKind::kill:
      return kill_program();
    case MessageKind::release:
      is_released_ = true;
      exit_status_ = message.wait_status;
      return;
    case MessageKind::refused:
      fprintf(stderr, "spillway-rank: %s\n", message.text);
      is_released_ = true;
      return kill_program();
    default:
      return;
  }
}

void RankParent::take_signal() {
  signalfd_siginfo signal{};
  if (read(signals_.number(), &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) return;
  const int number = static_cast<int>(signal.ssi_signo);
  if (number == SIGCHLD) return reap();
  if (program_ <= 0) return;
  switch (number) {
    case SIGTSTP:  // which the kernel ignores for a program whose session has no shell
      kill(program_, SIGSTOP);
      return;
    case SIGUSR1:
    case SIGUSR2:
      segments_.note(program_);  // it may end of this
      [[fallthrough]];
    case SIGCONT:
      kill(program_, number);
      return;
    default:
      segments_.signal_after_note(program_, number);
  }
}

void RankParent::reap() {
  int status = 0;
  for (pid_t child; (child = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (WIFSTOPPED(status)) {
      threads_.came_to_a_stop(child, status);
      continue;
    }
    threads_.has_been_reaped(child);
    if (child == program_) report_end(status);
  }
}

void RankParent::report_end(int wait_status) {
  AttachMessage exited = make_message(MessageKind::exited);
  exited.pid = program_;
  exited.wait_status = wait_status;
  program_ = 0;
  exit_status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
  if (agent_) send_message(agent_.number(), exited);
  // A failed job ends at once: what the program left running would hold its output open, which the MPI launcher waits
  // for.
  if (wait_status != 0) end_descendants();
  segments_.remove();
}

void RankParent::kill_program() {
  if (program_ > 0) segments_.signal_after_note(program_, SIGKILL);
}

}  // namespace spillway::launch
