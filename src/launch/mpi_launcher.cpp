#include "launch/mpi_launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

#include "launch/descendants.h"
#include "launch/mpi_session.h"
#include "node/attach_protocol.h"

namespace spillway::launch {
namespace {

[[noreturn]] void become_launcher(const NodeOptions& options, int output, int errors, int failure_pipe, pid_t agent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(1);
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  const std::string session = options.has_sessions ? session_of_launcher(getpid()) : "";
  if (options.has_sessions) make_session(session);
  execvp(options.command[0], options.command.data());
  const int error = errno;
  remove_session(session);
  [[maybe_unused]] const ssize_t written = write(failure_pipe, &error, sizeof error);
  _exit(127);
}

}  // namespace

MpiLauncher::MpiLauncher() : output_(STDOUT_FILENO), errors_(STDERR_FILENO) {}

void MpiLauncher::start(const NodeOptions& options, const std::string& socket_name,
                        const std::map<std::string, std::string>& settings) {
  adopt_orphans();
  setenv(node::kSocketVariable, socket_name.c_str(), 1);
  setenv(node::kPreloadVariable, options.preload.c_str(), 1);
  // A job may run in a rank of another one.
  for (const char* name : {node::kRanksPerNodeVariable, node::kNodeCommandVariable, node::kJoinVariable,
                           node::kSecretVariable, kSessionVariable})
    unsetenv(name);
  for (const auto& [name, value] : settings) setenv(name.c_str(), value.c_str(), 1);
  int failure_pipe[2];
  if (pipe2(failure_pipe, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t self = getpid();
  process_ = fork();
  if (process_ == 0)
    become_launcher(options, output_.writing_end().number(), errors_.writing_end().number(), failure_pipe[1], self);
  int error = process_ < 0 ? errno : 0;
  close(failure_pipe[1]);
  if (process_ > 0)
    while (read(failure_pipe[0], &error, sizeof error) < 0 && errno == EINTR) continue;
  close(failure_pipe[0]);
  if (error != 0)
    throw std::system_error(error, std::generic_category(), std::string("cannot start ") + options.command[0]);
  output_.start();
  errors_.start();
}

void MpiLauncher::finish_output(bool is_any_left) {
  for (OutputRelay* relay : {&output_, &errors_})
    if (is_any_left) relay->stop_reading();
  output_.finish();
  errors_.finish();
}

bool MpiLauncher::reap() {
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
    if (ended == process_) {
      has_ended_ = true;
      wait_status_ = status;
    }
  return has_ended_;
}

void MpiLauncher::kill_all() const {
  if (!has_ended_ && process_ > 0) kill(-process_, SIGKILL);
}

void MpiLauncher::follow(int signal_number) const {
  if (has_ended_ || process_ <= 0) return;
  if (signal_number == SIGTSTP) kill(-process_, SIGSTOP);
  if (signal_number == SIGCONT) kill(-process_, SIGCONT);
}

}  // namespace spillway::launch
