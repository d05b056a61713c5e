// A disk that gets full: after SPILLWAY_TEST_DISK_BYTES bytes, allocation and writing fail with ENOSPC. Per process;
// needs no privilege.
#include <dlfcn.h>
#include <errno.h>
#include <sys/types.h>

#include <atomic>
#include <cstdlib>

namespace {

std::atomic<long long> taken{0};

bool is_full(long long bytes) {
  static const char* limit = getenv("SPILLWAY_TEST_DISK_BYTES");
  return limit != nullptr && (taken += bytes) > atoll(limit);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  if (is_full(bytes)) {
    errno = ENOSPC;
    return -1;
  }
  return next<int (*)(int, int, off_t, off_t)>("fallocate")(descriptor, mode, offset, bytes);
}

extern "C" __attribute__((visibility("default"))) ssize_t pwrite(int descriptor, const void* data, size_t bytes,
                                                                 off_t offset) {
  if (is_full(static_cast<long long>(bytes))) {
    errno = ENOSPC;
    return -1;
  }
  return next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(descriptor, data, bytes, offset);
}
