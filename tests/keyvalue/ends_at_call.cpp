// Preloaded: ends a process of a key-value job (with ENDS_AT_CALL_RANK, of that rank) at its ENDS_AT_CALLth call of
// rename, unlink or fdatasync, if the file ENDS_AT_CALL_ONCE is not there yet, and makes that. Only files below the
// folder of that file count, not what the MPI library removes in MPI_Init. With DISK_IS_FULL, no fdatasync finds room.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<int> calls{0};

bool is_rank_to_end() {
  const char* wanted = std::getenv("ENDS_AT_CALL_RANK");
  if (wanted == nullptr) return true;
  const char* rank = std::getenv("PMI_RANK");
  if (rank == nullptr) rank = std::getenv("OMPI_COMM_WORLD_RANK");
  return rank != nullptr && std::strcmp(rank, wanted) == 0;
}

void count_call() {
  const char* call = std::getenv("ENDS_AT_CALL");
  const char* once = std::getenv("ENDS_AT_CALL_ONCE");
  if (call == nullptr || once == nullptr || std::getenv("MPI_D_CONTROL") == nullptr) return;
  if (!is_rank_to_end() || ++calls != std::atoi(call)) return;
  if (open(once, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) raise(SIGKILL);
}

void count_call_for(const char* path) {
  const char* once = std::getenv("ENDS_AT_CALL_ONCE");
  const char* end = once == nullptr ? nullptr : std::strrchr(once, '/');
  if (end != nullptr && std::strncmp(path, once, static_cast<size_t>(end - once) + 1) == 0) count_call();
}

template <typename Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  count_call_for(to);
  return next_function<int(const char*, const char*)>("rename")(from, to);
}

__attribute__((visibility("default"))) int unlink(const char* path) noexcept {
  count_call_for(path);
  return next_function<int(const char*)>("unlink")(path);
}

__attribute__((visibility("default"))) int fdatasync(int file) {
  if (std::getenv("DISK_IS_FULL") != nullptr) {
    errno = ENOSPC;
    return -1;
  }
  count_call();
  return next_function<int(int)>("fdatasync")(file);
}

}  // extern "C"
