// Preloaded: holds each process at its HELD_CALLth call of one kind, HELD_AT, until a test lets all of them go
// (held.py). `read` and `write` are requests of asynchronous I/O for a file whose path begins with HELD_OF, of
// HELD_BYTES at least; `rename` gives such a name. Who is held has a file in the folder HELD_GATE, and goes on when
// `open` is there.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr unsigned kLookMicroseconds = 1000;

std::atomic<int> calls{0};

bool is_wanted(const char* kind) {
  const char* wanted = std::getenv("HELD_AT");
  return wanted != nullptr && std::strcmp(wanted, kind) == 0;
}

bool is_held_of(const char* path) {
  const char* prefix = std::getenv("HELD_OF");
  return prefix != nullptr && std::strncmp(path, prefix, std::strlen(prefix)) == 0;
}

void count_call() {
  const char* call = std::getenv("HELD_CALL");
  const char* gate = std::getenv("HELD_GATE");
  if (call == nullptr || gate == nullptr || ++calls != std::atoi(call)) return;
  char name[4096];
  std::snprintf(name, sizeof name, "%s/%d", gate, getpid());
  close(open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  std::snprintf(name, sizeof name, "%s/open", gate);
  while (access(name, F_OK) != 0) usleep(kLookMicroseconds);
}

void look_at_request(const iocb& request) {
  const char* least = std::getenv("HELD_BYTES");
  if (!is_wanted(request.aio_lio_opcode == IOCB_CMD_PWRITE ? "write" : "read")) return;
  if (least == nullptr || request.aio_nbytes < std::strtoull(least, nullptr, 10)) return;
  char link[64];
  char path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%u", request.aio_fildes);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return;
  path[size] = '\0';
  if (is_held_of(path)) count_call();
}

template <typename Function>
Function* next_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) long syscall(long number, ...) noexcept {
  static const auto next = next_function<long(long, long, long, long, long, long, long)>("syscall");
  long words[6];
  va_list list;
  va_start(list, number);
  for (long& word : words) word = va_arg(list, long);
  va_end(list);
  if (number == SYS_io_submit)
    for (long i = 0; i < words[1]; ++i) look_at_request(*reinterpret_cast<iocb**>(words[2])[i]);
  return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

__attribute__((visibility("default"))) int rename(const char* from, const char* to) noexcept {
  if (is_wanted("rename") && is_held_of(to)) count_call();
  return next_function<int(const char*, const char*)>("rename")(from, to);
}

}  // extern "C"
