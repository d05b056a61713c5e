#include "mpi/call_lock.h"

#include <fcntl.h>
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_t first_thread;
bool is_needed = false;
bool is_multiple = false;
pthread_key_t thread_key;                 // set in each of them
std::atomic<uint32_t> other_threads = 0;  // that live and have called MPI
thread_local bool is_held_here = false;

// Of each thread that calls MPI. The list has a lock of its own, which is never held while another one is taken.
struct CallingThread {
  pid_t id;
  std::atomic<bool> rests;  // asleep, or about to be, or waiting for the CallLock
  CallingThread* next;
};
pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
CallingThread* calling_threads = nullptr;  // [list_mutex]
thread_local CallingThread this_thread;

void enter_list() {
  SPILLWAY_CHECK(pthread_setspecific(thread_key, &this_thread) == 0);
  this_thread.id = static_cast<pid_t>(syscall(SYS_gettid));
  pthread_mutex_lock(&list_mutex);
  this_thread.next = calling_threads;
  calling_threads = &this_thread;
  pthread_mutex_unlock(&list_mutex);
}

void leave_list() {
  pthread_mutex_lock(&list_mutex);
  CallingThread** link = &calling_threads;
  while (*link != &this_thread) link = &(*link)->next;
  *link = this_thread.next;
  pthread_mutex_unlock(&list_mutex);
}

// After the name in parentheses stands its state (proc(5)). One that waits for the disk does so for a page of memory.
bool does_run(pid_t thread) {
  char text[256];
  snprintf(text, sizeof text, "/proc/self/task/%d/stat", static_cast<int>(thread));
  const int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;  // it has ended
  const ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  text[bytes > 0 ? bytes : 0] = '\0';
  const char* name_end = strrchr(text, ')');
  return name_end != nullptr && (name_end[2] == 'R' || name_end[2] == 'D');
}

// Without the lock: a thread that holds it may be waiting for the end of this one, and in a forked child, which has no
// runtime, it may be held for ever.
void forget_thread(void*) {
  if (mpi::runtime() == nullptr) return;
  leave_list();
  if (CallLock::is_first_thread()) return;
  other_threads.fetch_sub(1);
  Runtime* const runtime = active_runtime();
  if (runtime == nullptr) return;
  runtime->self.record().other_threads.fetch_sub(1);
  runtime->other_thread_ended();
}

// [mutex]
void count_other_thread() {
  if (pthread_getspecific(thread_key) != nullptr) return;
  enter_list();
  other_threads.fetch_add(1);
  active_runtime()->self.record().other_threads.fetch_add(1);
}

}  // namespace

void CallLock::start(int thread_level) {
  first_thread = pthread_self();
  is_multiple = thread_level >= MPI_THREAD_MULTIPLE;
  is_needed = thread_level >= MPI_THREAD_SERIALIZED;
  if (!is_multiple) return;
  SPILLWAY_CHECK(pthread_key_create(&thread_key, forget_thread) == 0);
  enter_list();
}

CallLock::CallLock(bool wanted) : is_held_(wanted && is_needed) {
  if (!is_held_) return;
  this_thread.rests = true;
  pthread_mutex_lock(&mutex);
  this_thread.rests = false;
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

bool CallLock::does_another_thread_run() {
  if (!several_threads_call()) return false;
  pthread_mutex_lock(&list_mutex);
  bool has_found = false;
  for (const CallingThread* thread = calling_threads; thread != nullptr && !has_found; thread = thread->next)
    has_found = thread != &this_thread && !thread->rests && does_run(thread->id);
  pthread_mutex_unlock(&list_mutex);
  return has_found;
}

void CallLock::before_sleep() {
  this_thread.rests = true;
  if (is_needed) pthread_mutex_unlock(&mutex);
}

void CallLock::after_sleep() {
  if (is_needed) pthread_mutex_lock(&mutex);
  this_thread.rests = false;
}

}  // namespace spillway::mpi
