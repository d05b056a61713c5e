#include "launch/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/clock.h"

namespace spillway::launch {
namespace {

constexpr useconds_t kPauseUs = 1000;

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

void adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void let_descendants_end(uint64_t patience_ns) {
  const uint64_t begin_ns = base::now_ns();
  while (base::now_ns() - begin_ns < patience_ns) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return;
    if (ended <= 0) usleep(kPauseUs);
  }
}

void end_descendants() {
  for (;;) {
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended > 0) continue;
    if (ended < 0 && errno == ECHILD) return;
    kill_children();
    usleep(kPauseUs);
  }
}

}  // namespace spillway::launch
