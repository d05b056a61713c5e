#include "mpi/call_lock.h"

#include <mpi.h>

#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_t first_thread;
bool is_needed = false;
bool is_multiple = false;
bool several_threads = false;  // [mutex]
thread_local bool is_held_here = false;

}  // namespace

void CallLock::start(int thread_level) {
  first_thread = pthread_self();
  is_multiple = thread_level >= MPI_THREAD_MULTIPLE;
  is_needed = thread_level >= MPI_THREAD_SERIALIZED;
}

CallLock::CallLock(bool wanted) : is_held_(wanted && is_needed) {
  if (!is_held_) return;
  pthread_mutex_lock(&mutex);
  is_held_here = true;
  if (!is_multiple || several_threads || is_first_thread() || active_runtime() == nullptr) return;
  several_threads = true;
  active_runtime()->pin();
}

void CallLock::release() {
  if (is_held_) {
    is_held_here = false;
    pthread_mutex_unlock(&mutex);
  }
  is_held_ = false;
}

bool CallLock::is_first_thread() { return pthread_equal(pthread_self(), first_thread) != 0; }
bool CallLock::is_held_by_this_thread() { return is_held_here; }
bool CallLock::several_threads_call() { return several_threads; }

void CallLock::before_sleep() {
  if (is_needed) pthread_mutex_unlock(&mutex);
}

void CallLock::after_sleep() {
  if (is_needed) pthread_mutex_lock(&mutex);
}

}  // namespace spillway::mpi
