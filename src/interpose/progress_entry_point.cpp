// MPICH over UCX: a rank that waits in a call that is delegated looks for news by ucp_worker_progress() over and over,
// each time until the end of its time slice of some milliseconds, while those that it waits for get no processor. Where
// there are more ranks than processors, a look that finds nothing gives the processor to another rank.
#ifndef OPEN_MPI
#include <dlfcn.h>
#include <link.h>
#include <sched.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "interpose/entry.h"

namespace {

using Progress = unsigned (*)(void*);

// Of the UCX that the caller was linked with: there may be several in a process, and none of them among the names of
// all, when a script has loaded MPI.
Progress progress_for(void* caller) {
  const spillway::interpose::UnmanagedScope scope;
  constexpr const char* kName = "ucp_worker_progress";
  Dl_info info;
  link_map* library = nullptr;
  void* found = nullptr;
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) != 0 && library->l_name[0] != '\0') {
    void* handle = dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) found = dlsym(handle, kName);
    if (handle != nullptr) dlclose(handle);
  }
  if (found == nullptr) found = dlsym(RTLD_NEXT, kName);  // of the program itself
  if (found == nullptr) {
    fprintf(stderr, "spillway: %s called %s, which no library has that it was linked with; please report this\n",
            library != nullptr ? library->l_name : "a program", kName);
    abort();
  }
  return reinterpret_cast<Progress>(found);
}

// Not one that only looks in, or tests a request: whoever gives the processor away may get it back some milliseconds
// later.
bool waits_in_library() {
  const spillway::mpi::Runtime* runtime = spillway::mpi::runtime();
  return runtime != nullptr && (runtime->self.record().library_calls != 0 || runtime->is_finalized()) &&
         runtime->self.header().cpu_count < runtime->self.rank_count();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  // A rank that waits calls from the same few places over and over.
  struct Known {
    void* caller;
    Progress progress;
  };
  static thread_local Known all_known[16];
  void* caller = __builtin_return_address(0);
  Known& known = all_known[reinterpret_cast<uintptr_t>(caller) / 4 % 16];
  if (known.caller != caller) known = {caller, progress_for(caller)};
  const unsigned news = known.progress(worker);
  if (news == 0 && waits_in_library()) sched_yield();
  return news;
}
#endif
