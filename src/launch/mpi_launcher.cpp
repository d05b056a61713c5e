#include "launch/mpi_launcher.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>

#include "node/attach_protocol.h"

namespace spillway::launch {
namespace {

[[noreturn]] void become_launcher(const NodeOptions& options, int failure_pipe, pid_t agent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != agent) _exit(1);
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execvp(options.command[0], options.command.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(failure_pipe, &error, sizeof error);
  _exit(127);
}

// Parent of a process, from the field after its name in /proc/<pid>/stat; the name may hold spaces and parentheses.
pid_t parent_of(const char* process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%.20s/stat", process);
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fopen(path, "re"), fclose);
  char line[512];
  if (!file || fgets(line, sizeof line, file.get()) == nullptr) return 0;
  const char* name_end = strrchr(line, ')');
  int parent = 0;
  if (name_end == nullptr || sscanf(name_end + 1, " %*c %d", &parent) != 1) return 0;
  return parent;
}

void kill_children() {
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), closedir);
  if (!processes) return;
  const pid_t self = getpid();
  while (const dirent* entry = readdir(processes.get()))
    if (isdigit(static_cast<unsigned char>(entry->d_name[0])) && parent_of(entry->d_name) == self)
      kill(atoi(entry->d_name), SIGKILL);
}

}  // namespace

void MpiLauncher::start(const NodeOptions& options, const std::string& socket_name) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setenv(node::kSocketVariable, socket_name.c_str(), 1);
  setenv(node::kPreloadVariable, options.preload.c_str(), 1);
  setenv(node::kSpillDirVariable, options.spill_directory.c_str(), 1);
  int failure_pipe[2];
  if (pipe2(failure_pipe, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  const pid_t self = getpid();
  process_ = fork();
  if (process_ == 0) become_launcher(options, failure_pipe[1], self);
  int error = process_ < 0 ? errno : 0;
  close(failure_pipe[1]);
  if (process_ > 0)
    while (read(failure_pipe[0], &error, sizeof error) < 0 && errno == EINTR) continue;
  close(failure_pipe[0]);
  if (error != 0)
    throw std::system_error(error, std::generic_category(), std::string("cannot start ") + options.command[0]);
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

void MpiLauncher::end_descendants() {
  constexpr useconds_t kPause = 1000;
  for (;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended > 0) continue;
    if (ended < 0 && errno == ECHILD) return;
    kill_children();
    usleep(kPause);
  }
}

}  // namespace spillway::launch
