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

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker);

namespace {

using Progress = unsigned (*)(void*);

constexpr const char* kName = "ucp_worker_progress";

// In a library and those that it was linked with.
void* find_in(const char* library) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* found = dlsym(handle, kName);
  dlclose(handle);
  return found == reinterpret_cast<void*>(&ucp_worker_progress) ? nullptr : found;
}

// Of the UCX that the caller was linked with: there may be several in a process, and none of them among the names of
// all, when a script has loaded MPI. A call at the end of a function (a jump) hides who made it.
Progress progress_for(void* caller) {
  const spillway::interpose::UnmanagedScope scope;
  Dl_info info;
  link_map* library = nullptr;
  void* found = nullptr;
  if (dladdr1(caller, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) != 0 && library->l_name[0] != '\0')
    found = find_in(library->l_name);
  if (found == nullptr) found = dlsym(RTLD_NEXT, kName);
  if (found == nullptr) found = find_in("libucp.so.0");
  if (found == nullptr) {
    fprintf(stderr, "spillway: %s calls %s, but UCX was not found\n  Remedy: please report this as a bug\n",
            library != nullptr ? library->l_name : "the program", kName);
    abort();
  }
  return reinterpret_cast<Progress>(found);
}

// Not one that only looks in, or tests a request: whoever gives the processor away may get it back some milliseconds
// later.
bool waits_in_library() {
  const spillway::mpi::Runtime* runtime = spillway::mpi::runtime();
  return runtime != nullptr && (runtime->self.record().library_calls != 0 || runtime->is_finalized()) &&
         !runtime->self.has_processor_of_its_own();
}

}  // namespace

unsigned ucp_worker_progress(void* worker) {
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
