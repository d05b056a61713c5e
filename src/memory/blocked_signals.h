// Keeps signal handlers from the calling thread for the life of a scope. Between the moment at which a page is written
// to storage and the one at which it leaves memory, a handler's stores to it would be lost.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace spillway::memory {

class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace spillway::memory
