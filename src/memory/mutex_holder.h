// Locks a mutex of pthreads for the life of a scope: std::mutex may not be used below malloc, nor across fork.
#pragma once

#include <pthread.h>

namespace spillway::memory {

class MutexHolder {
 public:
  explicit MutexHolder(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  ~MutexHolder() { pthread_mutex_unlock(&mutex_); }
  MutexHolder(const MutexHolder&) = delete;
  MutexHolder& operator=(const MutexHolder&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace spillway::memory
