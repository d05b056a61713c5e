// One thread at a time in the MPI layer.
//
// Programs that were granted MPI_THREAD_SERIALIZED or more call MPI from several threads. A thread holds the rank's one
// lock while it is in Spillway's code, but not while it sleeps, nor in calls of the MPI library that may wait: several
// threads may be asleep at a time, each for what it waits for. Below that level the lock costs a comparison.
#pragma once

#include <pthread.h>

namespace spillway::mpi {

class CallLock {
 public:
  // Not `wanted`: does nothing. A thread must not take the lock twice, so the MPI library's own calls of MPI functions,
  // which may come from within Spillway's code, go without.
  explicit CallLock(bool wanted = true);
  ~CallLock() { release(); }
  CallLock(const CallLock&) = delete;
  CallLock& operator=(const CallLock&) = delete;

  // Takes the lock unless another thread holds it; false if one does.
  bool try_take();

  // Before the end of its life; idempotent.
  void release();

  // Once, before other threads may call MPI: `thread_level` is what MPI_Init_thread has granted. The calling thread is
  // the one that other threads are other to.
  static void start(int thread_level);

  // Whether the caller is the thread that has called start().
  static bool is_first_thread();

  // Spillway's own temporary memory may come from the arena, which calls back for room.
  static bool is_held_by_this_thread();

  // At MPI_THREAD_MULTIPLE: another thread has called MPI too, and still lives.
  static bool several_threads_call();

  // One of these threads, and not the caller, does not sleep: it uses the rank's memory now. Threads that never call
  // MPI do not count: those of OpenMP often spin for as long as there is nothing to do.
  static bool does_another_thread_run();

  // Around a sleep of the thread that holds the lock.
  static void before_sleep();
  static void after_sleep();

 private:
  bool is_held_;
};

}  // namespace spillway::mpi
