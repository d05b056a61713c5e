// What is done around a fork, and __register_atfork, by which others say what they do.
//
// The locks of the arena and of the heap are held while a process forks, so that the child does not inherit them in the
// middle of an operation. Others allocate, free and wait for threads that do in what they do around a fork. So nothing
// of theirs may run while the locks are held: Spillway's part must be registered before all others, since the last to
// be registered runs first before a fork, and the first to be registered runs first after it. Libraries register when
// they are loaded, before anybody calls MPI; hence this look at what they register (pthread_atfork, a part of each
// library, calls it).
//
// The C library takes locks of its own after that, and its malloc's last, as it may be called while they are held. Its
// lock of the list of streams, under which streams are flushed, is taken here first. While it registers handlers it
// holds a lock, too, and allocates with its own malloc. That of the name service's configuration cannot be reached: a
// thread that reads /etc/nsswitch.conf in the microseconds of another one's fork may wait for ever.
#include <dlfcn.h>

#include "interpose/fork.h"
#include "interpose/managed_memory.h"
#include "mpi/runtime.h"

extern "C" {
extern void* __dso_handle;
void _IO_list_lock();
void _IO_list_unlock();
void _IO_list_resetlock();
}

namespace spillway::interpose {
namespace {

using Handler = void (*)();
using Register = int (*)(Handler prepare, Handler in_parent, Handler in_child, void* library);

void before_fork() {
  _IO_list_lock();
  small_heap().lock_for_fork();
  arena().lock_for_fork();
}

void after_fork_in_parent() {
  arena().unlock_after_fork_in_parent();
  small_heap().unlock_after_fork_in_parent();
  _IO_list_unlock();
}

// A forked child has a copy of the rank's memory but is not the rank: it must neither charge nor free on its behalf.
void after_fork_in_child() {
  arena().unlock_after_fork_in_child();
  small_heap().unlock_after_fork_in_child();
  _IO_list_resetlock();  // the C library does that only where there were several threads
  mpi::forget_runtime();
}

Register next_register() {
  static const auto next = reinterpret_cast<Register>(dlsym(RTLD_NEXT, "__register_atfork"));
  return next;
}

}  // namespace

void take_care_of_forks() {
  [[maybe_unused]] static const int registered =
      next_register()(before_fork, after_fork_in_parent, after_fork_in_child, reinterpret_cast<void*>(&__dso_handle));
}

}  // namespace spillway::interpose

extern "C" __attribute__((visibility("default"))) int __register_atfork(void (*prepare)(), void (*in_parent)(),
                                                                        void (*in_child)(), void* library) {
  spillway::interpose::take_care_of_forks();
  const spillway::interpose::UnmanagedScope scope;
  return spillway::interpose::next_register()(prepare, in_parent, in_child, library);
}
