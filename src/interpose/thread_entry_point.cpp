// pthread_create: threads that the MPI library starts are the library's, and so is what they allocate. So are those
// that libraries above it start for its progress (base/library_thread.h).
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>

#include "interpose/managed_memory.h"

namespace {

using spillway::interpose::UnmanagedScope;

struct Start {
  void* (*function)(void*);
  void* argument;
};

void* run_for_library(void* given) {
  const UnmanagedScope scope;
  const Start start = *static_cast<Start*>(given);
  free(given);
  return start.function(start.argument);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*function)(void*), void* argument) {
  using Function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_create"));
  if (!UnmanagedScope::is_inside()) return next(thread, attributes, function, argument);
  void* memory = malloc(sizeof(Start));
  if (memory == nullptr) return EAGAIN;
  const int code = next(thread, attributes, run_for_library, new (memory) Start{function, argument});
  if (code != 0) free(memory);
  return code;
}

extern "C" __attribute__((visibility("default"))) int spillway_start_library_thread(pthread_t* thread,
                                                                                    const pthread_attr_t* attributes,
                                                                                    void* (*function)(void*),
                                                                                    void* argument) {
  const UnmanagedScope scope;
  return pthread_create(thread, attributes, function, argument);
}
