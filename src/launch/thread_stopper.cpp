#include "launch/thread_stopper.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/clock.h"
#include "launch/process_times.h"

namespace spillway::launch {
namespace {

using node::ThreadStop;

// For threads that wait for a processor. Whoever waits for a lock that one of them holds waits as long.
constexpr uint64_t kPatienceNs = 100000000;
constexpr long kPauseNs = 20000;

std::string task_directory(pid_t process) { return "/proc/" + std::to_string(process) + "/task"; }

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> threads;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(task_directory(process).c_str()), closedir);
  while (const dirent* entry = directory != nullptr ? readdir(directory.get()) : nullptr)
    if (const pid_t thread = atoi(entry->d_name); thread > 0) threads.push_back(thread);
  return threads;
}

// False for the number of a thread in another namespace.
bool is_thread_of(pid_t process, pid_t thread) {
  return access((task_directory(process) + "/" + std::to_string(thread)).c_str(), F_OK) == 0;
}

bool has_ended(pid_t thread) {
  const char state = times_of(thread).state;
  return state == 'Z' || state == 'X' || state == '?';
}

// Above the signal stands which event of ptrace(2) it was; 0: the thread was about to take the signal.
int signal_of(int stop_code) { return stop_code >> 8 == 0 ? stop_code : 0; }

}  // namespace

// False when the system is against it.
bool ThreadStopper::seize(pid_t thread) {
  if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return errno == ESRCH || has_ended(thread);
  threads_.push_back(Thread{.id = thread});
  ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);  // fails only when it has ended
  return true;
}

// How a thread has ended, if it has, is left for whoever waits for the process.
bool ThreadStopper::has_come_to_a_stop(Thread& thread) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(thread.id), &info, WSTOPPED | WNOHANG | __WALL) != 0 || info.si_pid == 0)
    return false;
  thread.is_stopped = true;
  thread.signal = signal_of(info.si_status);
  return true;
}

bool ThreadStopper::await_stops(uint64_t end_ns) {
  for (Thread& thread : threads_)
    while (!thread.is_stopped && !has_come_to_a_stop(thread) && !has_ended(thread.id)) {
      if (base::now_ns() >= end_ns) return false;
      const timespec pause{0, kPauseNs};
      nanosleep(&pause, nullptr);
    }
  return true;
}

bool ThreadStopper::is_known(pid_t thread) const {
  return std::any_of(threads_.begin(), threads_.end(), [&](const Thread& known) { return known.id == thread; });
}

// Of those that are there now. False when one of them cannot be traced.
bool ThreadStopper::seize_all(const std::vector<pid_t>& listed, pid_t except) {
  return std::all_of(listed.begin(), listed.end(),
                     [&](pid_t thread) { return thread == except || is_known(thread) || seize(thread); });
}

// The list of a directory that changes is not complete: all are known only when there are as many as the directory has
// links, beside two of its own. The first thread may have ended before the others.
bool ThreadStopper::are_all_known(pid_t process, const std::vector<pid_t>& listed, pid_t except) const {
  struct stat directory {};
  if (stat(task_directory(process).c_str(), &directory) != 0 || directory.st_nlink != listed.size() + 2) return false;
  return std::all_of(listed.begin(), listed.end(), [&](pid_t thread) {
    return thread == except || is_known(thread) || (thread == process && has_ended(thread));
  });
}

ThreadStop ThreadStopper::stop(pid_t process, pid_t except) {
  const uint64_t end_ns = base::now_ns() + kPatienceNs;
  ThreadStop result = ThreadStop::not_now;
  while (await_stops(end_ns) && base::now_ns() < end_ns) {
    const size_t known = threads_.size();  // and stopped
    const std::vector<pid_t> listed = threads_of(process);
    if (!is_thread_of(process, except) || !seize_all(listed, except)) {
      result = ThreadStop::not_allowed;
      break;
    }
    if (threads_.size() == known && are_all_known(process, listed, except)) return ThreadStop::stopped;
  }
  let_go();
  return result;
}

void ThreadStopper::let_go() {
  std::erase_if(threads_, [](const Thread& thread) {
    if (thread.is_stopped) ptrace(PTRACE_DETACH, thread.id, nullptr, static_cast<intptr_t>(thread.signal));
    return thread.is_stopped || has_ended(thread.id);
  });
}

void ThreadStopper::came_to_a_stop(pid_t thread, int wait_status) {
  const auto found = std::find_if(threads_.begin(), threads_.end(), [&](const Thread& t) { return t.id == thread; });
  if (found != threads_.end() && found->is_stopped) return;
  if (found != threads_.end()) threads_.erase(found);  // else it has the number of one that has called exec
  ptrace(PTRACE_DETACH, thread, nullptr, static_cast<intptr_t>(signal_of(wait_status >> 8)));
}

void ThreadStopper::has_been_reaped(pid_t thread) {
  std::erase_if(threads_, [&](const Thread& known) { return known.id == thread; });
}

}  // namespace spillway::launch
