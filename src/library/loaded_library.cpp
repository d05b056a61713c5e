#include "library/loaded_library.h"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include "base/error.h"

namespace spillway::library {

std::atomic<bool> library_found = false;

namespace {
void* the_library = nullptr;  // set before library_found
}

void find_functions(void* library);                       // generated
const char* function_without_entry_point(void* library);  // generated; nullptr: the library has none such

namespace {

constexpr const char* kSymbol = "PMPI_Init";

bool is_ours(const void* address) {
  Dl_info here{}, there{};
  return dladdr(reinterpret_cast<const void*>(&find_mpi_library), &here) != 0 && dladdr(address, &there) != 0 &&
         here.dli_fbase == there.dli_fbase;
}

// The file that has the MPI library's functions, if `object` or one of the libraries it was linked with is that.
const char* file_of_mpi_library(const char* object) {
  void* handle = dlopen(object, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* function = dlsym(handle, kSymbol);
  dlclose(handle);
  Dl_info where{};
  return function != nullptr && !is_ours(function) && dladdr(function, &where) != 0 ? where.dli_fname : nullptr;
}

// The handle is never given up: the library stays loaded for as long as its functions may be called.
int open_mpi_library(dl_phdr_info* object, size_t, void* library) {
  const char* file = object->dlpi_name[0] == '\0' ? nullptr : file_of_mpi_library(object->dlpi_name);
  if (file == nullptr) return 0;
  *static_cast<void**>(library) = dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  return *static_cast<void**>(library) != nullptr;
}

#ifdef OPEN_MPI
// The linker may have moved data of the library into the program (copy relocation): the library uses it there too.
void* find_data(void* library, const char* name) {
  void* moved = dlsym(RTLD_DEFAULT, name);
  return moved != nullptr ? moved : dlsym(library, name);
}

void find_handles(void* library) {
#define SPILLWAY_FIND(handle) \
  open_mpi::found_##handle = static_cast<decltype(open_mpi::found_##handle)>(find_data(library, #handle));
  SPILLWAY_OPEN_MPI_HANDLES(SPILLWAY_FIND)
#undef SPILLWAY_FIND
}
#else
void find_handles(void*) {}  // they are numbers
#endif

#ifdef OPEN_MPI
constexpr const char* kFamily = "Open MPI";
constexpr const char* kMark = "ompi_mpi_comm_world";
#else
constexpr const char* kFamily = "MPICH";
constexpr const char* kMark = "MPIR_Dup_fn";  // not in its library with MPI's standard ABI
#endif

// Scripts load the library when they run: only here can be seen which one that is.
void check_family(void* library, const char* file) {
  if (dlsym(library, kMark) == nullptr)
    base::fatal(
        "the program has loaded %s, but this job was started for %s\n"
        "  Remedy: name the library's family (--mpi mpich or --mpi openmpi), or have the program load the other "
        "library",
        file, kFamily);
}

}  // namespace

void find_mpi_library() {
  void* library = nullptr;
  dl_iterate_phdr(open_mpi_library, &library);
  if (library == nullptr)
    base::fatal(
        "cannot find the MPI library that this MPI call belongs to: link the program with it, or preload it too");
  Dl_info where{};
  dladdr(dlsym(library, kSymbol), &where);
  check_family(library, where.dli_fname != nullptr ? where.dli_fname : "an MPI library");
  the_library = library;
  find_functions(library);
  find_handles(library);
  library_found.store(true, std::memory_order_release);
}

void check_version() {
  const char* name = function_without_entry_point(the_library);
  if (name == nullptr) return;
  base::fatal(
      "runs with %s of a version that has %s, which this build of Spillway would not see\n"
      "  Remedy: build for that version, too: SPILLWAY_OTHER_MPICC=<its mpicc> ./dev build; for a script, name it with "
      "--mpi",
      kFamily, name);
}

void* mpi_library() { return is_found() ? the_library : nullptr; }

void report_missing(const char* function) {
  base::fatal(
      "the MPI library has no %s, which the one that Spillway was built for has\n"
      "  Remedy: build for this version, too: SPILLWAY_OTHER_MPICC=<its mpicc> ./dev build; for a script, name it with "
      "--mpi",
      function);
}

}  // namespace spillway::library
