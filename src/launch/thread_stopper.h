// Stops the threads of a rank while one of them unloads its memory.
//
// Between the moment at which a page is written to storage and the one at which it leaves memory, a store to it would
// be lost. Signals would stop the threads too, but programs notice those: system calls end with EINTR. So the rank's
// parent does it as a debugger would (ptrace(2): PTRACE_SEIZE, PTRACE_INTERRUPT), which needs no privilege: the
// kernel's default, Yama included, lets a process trace its descendants. A system call that a thread sleeps in goes on
// afterwards as if nothing had been, but for the few that end with EINTR whenever a process is stopped (epoll_wait,
// semop; signal(7)).
#pragma once

#include <sys/types.h>

#include <vector>

#include "node/attach_protocol.h"

namespace spillway::launch {

class ThreadStopper {
 public:
  ThreadStopper() = default;
  ThreadStopper(const ThreadStopper&) = delete;
  ThreadStopper& operator=(const ThreadStopper&) = delete;
  ~ThreadStopper() { let_go(); }

  // Stops every thread of `process` but `except`, which must not start others meanwhile. On anything but `stopped`
  // none is stopped: `not_now` when one of them does not come to a stop in time (it waits in the kernel for a device).
  // Threads of other processes that share the memory (vfork) are not stopped.
  node::ThreadStop stop(pid_t process, pid_t except);

  // They go on, with the signals that they were about to take.
  void let_go();

  // waitpid() has told of a stop of one of this process's children, or of their threads, with this status: one that has
  // come to it too late goes on.
  void came_to_a_stop(pid_t thread, int wait_status);

  // waitpid() has told of its end.
  void has_been_reaped(pid_t thread);

 private:
  struct Thread {
    pid_t id = 0;
    bool is_stopped = false;
    int signal = 0;  // that it was about to take; 0: none
  };

  bool seize(pid_t thread);
  bool is_known(pid_t thread) const;
  bool seize_all(const std::vector<pid_t>& listed, pid_t except);
  bool are_all_known(pid_t process, const std::vector<pid_t>& listed, pid_t except) const;
  bool await_stops(uint64_t end_ns);
  static bool has_come_to_a_stop(Thread& thread);

  std::vector<Thread> threads_;  // that are traced
};

}  // namespace spillway::launch
