#include "launch/descendants.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/clock.h"
#include "launch/patience.h"
#include "launch/process_times.h"

namespace spillway::launch {
namespace {

constexpr useconds_t kPauseUs = 1000, kLongestPauseUs = 32000;
constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kPatienceWithDeviceNs = 5 * kSecond;
constexpr uint64_t kPatienceNs = 120 * kSecond;

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

std::vector<Endless> kill_children() {
  std::vector<Endless> children;
  const std::unique_ptr<DIR, int (*)(DIR*)> processes(opendir("/proc"), closedir);
  if (!processes) return children;
  const pid_t self = getpid();
  while (const dirent* entry = readdir(processes.get()))
    if (isdigit(static_cast<unsigned char>(entry->d_name[0])) && parent_of(entry->d_name) == self)
      children.push_back({atoi(entry->d_name), '?'});
  for (Endless& child : children) {
    kill(child.process, SIGKILL);
    child.state = state_of_last_threads(child.process);
  }
  return children;
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

std::vector<Endless> end_descendants() {
  const uint64_t pause_ns = uint64_t{kLongestPauseUs} * 1000;
  Patience in_all(pause_ns, base::now_ns()), with_device = in_all;
  for (useconds_t pause_us = kPauseUs;; pause_us = std::min(2 * pause_us, kLongestPauseUs)) {
    for (pid_t ended; (ended = waitpid(-1, nullptr, WNOHANG)) != 0;)
      if (ended < 0 && errno == ECHILD) return {};
    std::vector<Endless> left = kill_children();
    const uint64_t now = base::now_ns();
    in_all.look(now);
    with_device.look(now);
    const auto waits = [](const Endless& child) { return child.state == 'D'; };
    if (!std::all_of(left.begin(), left.end(), waits)) with_device.start_anew(now);
    if (with_device.waited_ns() > kPatienceWithDeviceNs || in_all.waited_ns() > kPatienceNs) return left;
    usleep(pause_us);
  }
}

}  // namespace spillway::launch
