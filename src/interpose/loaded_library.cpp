#include "interpose/loaded_library.h"

#include <dlfcn.h>
#include <link.h>

#include "base/error.h"

namespace spillway::interpose {
namespace {

constexpr const char* kSymbol = "PMPI_Init";

// The file that has the MPI library's functions, if `object` or one of the libraries it was linked with is that. It
// stays loaded: the lookup does not load it, so there is no use of it to give up.
const char* file_of_mpi_library(const char* object) {
  void* handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* function = dlsym(handle, kSymbol);
  dlclose(handle);
  Dl_info where{};
  return function != nullptr && dladdr(function, &where) != 0 ? where.dli_fname : nullptr;
}

int make_global(dl_phdr_info* object, size_t, void* done) {
  const char* file = object->dlpi_name[0] == '\0' ? nullptr : file_of_mpi_library(object->dlpi_name);
  if (file == nullptr || dlopen(file, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) == nullptr) return 0;
  *static_cast<bool*>(done) = true;
  return 1;
}

#ifdef OPEN_MPI
void find_handles() {
#define SPILLWAY_FIND(handle) \
  mpi::open_mpi::found_##handle = static_cast<decltype(mpi::open_mpi::found_##handle)>(dlsym(RTLD_DEFAULT, #handle));
  SPILLWAY_OPEN_MPI_HANDLES(SPILLWAY_FIND)
#undef SPILLWAY_FIND
}
#else
void find_handles() {}  // they are numbers
#endif

}  // namespace

void find_mpi_library() {
  bool done = dlsym(RTLD_DEFAULT, kSymbol) != nullptr;
  if (!done) dl_iterate_phdr(make_global, &done);
  if (!done)
    base::fatal(
        "cannot find the MPI library that called MPI_Init belongs to: link the program with it, or preload it too");
  find_handles();
}

}  // namespace spillway::interpose
