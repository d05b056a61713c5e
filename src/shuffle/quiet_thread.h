// Threads of the library's own in a program that knows nothing of them: signals stay the program's.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace spillway::shuffle {

template <typename Function>
std::thread quiet_thread(Function function) {
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
  return std::thread(std::move(function));  // has the mask of this one
}

}  // namespace spillway::shuffle
