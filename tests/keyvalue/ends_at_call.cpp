// Preloaded: ends a process of a key-value job (with ENDS_AT_CALL_RANK, of that rank) at its ENDS_AT_CALLth call of
// rename, unlink or fdatasync, if the file ENDS_AT_CALL_ONCE is not there yet, and makes that. Only files below the
// folder of that file count, not what the MPI library removes in MPI_Init. With DISK_IS_FULL, no fdatasync finds room;
// with READS_FAIL, files whose path ends with that cannot be read or looked at: their disk has an error.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

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

bool is_unreadable(std::string_view path) {
  const char* end = std::getenv("READS_FAIL");
  return end != nullptr && path.ends_with(end);
}

bool is_unreadable(int file) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  return readlink(link.c_str(), path.data(), path.size() - 1) > 0 && is_unreadable(path.data());
}

int disk_error() {
  errno = EIO;
  return -1;
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

__attribute__((visibility("default"))) ssize_t pread(int file, void* data, size_t bytes, off_t offset) {
  if (is_unreadable(file)) return disk_error();
  return next_function<ssize_t(int, void*, size_t, off_t)>("pread")(file, data, bytes, offset);
}

__attribute__((visibility("default"))) int stat(const char* path, struct stat* status) noexcept {
  if (is_unreadable(path)) return disk_error();
  return next_function<int(const char*, struct stat*)>("stat")(path, status);
}

}  // extern "C"
