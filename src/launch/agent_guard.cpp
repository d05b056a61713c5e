#include "launch/agent_guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "launch/mpi_session.h"
#include "launch/patience.h"
#include "launch/process_times.h"

namespace spillway::launch {
namespace {

constexpr unsigned kIntervalS = 1;
constexpr unsigned kMostStoppedLooks = 6;
constexpr useconds_t kPauseUs = 20000;
constexpr uint64_t kPauseNs = kPauseUs * uint64_t{1000};
constexpr uint64_t kPatienceWithDaemonNs = 60000000000;

bool has_ended(pid_t process) { return kill(process, 0) != 0 || times_of(process).state == 'Z'; }

void wait_for_end_of_agent(pid_t agent) {
  for (;;) {
    int status = 0;
    const pid_t changed = waitpid(agent, &status, WUNTRACED);
    if (changed < 0 && errno == EINTR) continue;
    if (changed < 0 || !WIFSTOPPED(status)) return;
    unsigned looks = 0;
    while (looks < kMostStoppedLooks && times_of(agent).state == 'T') {
      sleep(kIntervalS);
      ++looks;
    }
    if (looks == kMostStoppedLooks) kill(agent, SIGKILL);
  }
}

}  // namespace

void guard_agent(pid_t agent, pid_t daemon) {
  sigset_t all;  // whoever ends a batch job or a process group signals everybody, and the agent outlives that
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  wait_for_end_of_agent(agent);
  const std::string session = session_of_daemon();
  if (session.empty()) return;
  Patience patience(kPauseNs, base::now_ns());
  while (!has_ended(daemon) && patience.waited_ns() < kPatienceWithDaemonNs) {
    usleep(kPauseUs);
    patience.look(base::now_ns());
  }
  if (has_ended(daemon)) remove_session(session);
}

}  // namespace spillway::launch
