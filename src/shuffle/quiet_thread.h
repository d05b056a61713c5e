// Threads of the library's own in a program that knows nothing of them: signals stay the program's. Their names, of at
// most 15 letters, are for whoever looks at a process's threads.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace spillway::shuffle {

template <typename Function>
std::thread quiet_thread(const char* name, Function function) {
  struct NoSignals {
    NoSignals() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const NoSignals no_signals;
  std::thread thread(std::move(function));  // has the mask of this one
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace spillway::shuffle
