#include "mpi/call_lock.h"

#include <mpi.h>

#include <atomic>

#include "base/error.h"
#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_t first_thread;
bool is_needed = false;
bool is_multiple = false;
pthread_key_t other_thread_key;
std::atomic<uint32_t> other_threads = 0;  // that live and have called MPI
thread_local bool is_held_here = false;

// Without the lock: a thread that holds it may be waiting for the end of this one, and in a forked child, which has no
// runtime, it may be held for ever.
void forget_other_thread(void*) {
  Runtime* const runtime = active_runtime();
  if (runtime == nullptr) return;
  other_threads.fetch_sub(1);
  runtime->self.record().other_threads.fetch_sub(1);
  runtime->unpin_asleep();
}

// [mutex]
void count_other_thread() {
  if (pthread_getspecific(other_thread_key) != nullptr) return;
  SPILLWAY_CHECK(pthread_setspecific(other_thread_key, &other_thread_key) == 0);
  other_threads.fetch_add(1);
  active_runtime()->self.record().other_threads.fetch_add(1);
  active_runtime()->pin();
}

}  // namespace

void CallLock::start(int thread_level) {
  first_thread = pthread_self();
  is_multiple = thread_level >= MPI_THREAD_MULTIPLE;
  is_needed = thread_level >= MPI_THREAD_SERIALIZED;
  if (is_multiple) SPILLWAY_CHECK(pthread_key_create(&other_thread_key, forget_other_thread) == 0);
}

CallLock::CallLock(bool wanted) : is_held_(wanted && is_needed) {
  if (!is_held_) return;
  pthread_mutex_lock(&mutex);
  is_held_here = true;
  if (is_multiple && !is_first_thread() && active_runtime() != nullptr) count_other_thread();
}

bool CallLock::try_take() {
  if (!is_needed) return true;
  if (pthread_mutex_trylock(&mutex) != 0) return false;
  is_held_ = is_held_here = true;
  return true;
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
bool CallLock::several_threads_call() { return other_threads != 0; }

void CallLock::before_sleep() {
  if (is_needed) pthread_mutex_unlock(&mutex);
}

void CallLock::after_sleep() {
  if (is_needed) pthread_mutex_lock(&mutex);
}

}  // namespace spillway::mpi
