// MPICH over UCX: a rank that waits in a call that is delegated looks for news by ucp_worker_progress() over and over,
// each time until the end of its time slice of some milliseconds, while those that it waits for get no processor. Where
// there are more ranks than processors, a look that finds nothing gives the processor to another rank.
#ifndef OPEN_MPI
#include <dlfcn.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>

#include "interpose/entry.h"

namespace {

using Progress = unsigned (*)(void*);

// The program may have brought the MPI library, and UCX with it, by dlopen: then neither is among the names of all.
Progress progress_of_ucx() {
  const spillway::interpose::UnmanagedScope scope;
  constexpr const char* kName = "ucp_worker_progress";
  void* found = dlsym(RTLD_NEXT, kName);
  void* library = found == nullptr ? dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (library != nullptr) found = dlsym(library, kName);
  if (found == nullptr) {
    fprintf(stderr, "spillway: %s is called, but is not in libucp.so.0: this version of UCX is not known\n", kName);
    abort();
  }
  return reinterpret_cast<Progress>(found);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  static const Progress progress = progress_of_ucx();
  const unsigned news = progress(worker);
  if (news == 0) {
    const spillway::mpi::Runtime* runtime = spillway::mpi::active_runtime();
    if (runtime != nullptr && runtime->self.header().cpu_count < runtime->self.rank_count()) sched_yield();
  }
  return news;
}
#endif
