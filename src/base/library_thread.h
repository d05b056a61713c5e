// How a library that MPI programs are linked with starts a thread for what the MPI library has to do. Under Spillway
// it becomes one of the MPI library's own, which have no part in their rank's slot and whose memory is the C library's.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

namespace spillway::base {

using StartThread = int (*)(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                            void* argument);

// As pthread_create().
inline int start_library_thread(pthread_t* thread, void* (*function)(void*), void* argument) {
  void* const of_spillway = dlsym(RTLD_DEFAULT, "spillway_start_library_thread");
  const auto start = of_spillway == nullptr ? pthread_create : reinterpret_cast<StartThread>(of_spillway);
  return start(thread, nullptr, function, argument);
}

}  // namespace spillway::base
