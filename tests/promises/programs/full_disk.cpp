// A disk that gets full: after SPILLWAY_TEST_DISK_BYTES bytes, allocation and writing fail with ENOSPC. Per process;
// needs no privilege. Spillway makes these system calls by the C library's syscall().
#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include <atomic>
#include <cstdarg>
#include <cstdlib>

namespace {

std::atomic<long long> taken{0};

bool is_full(long long bytes) {
  static const char* limit = getenv("SPILLWAY_TEST_DISK_BYTES");
  return limit != nullptr && (taken += bytes) > atoll(limit);
}

long call_kernel(long number, const long (&a)[6]) {
  long result = number;
  register long fourth asm("r10") = a[3];
  register long fifth asm("r8") = a[4];
  register long sixth asm("r9") = a[5];
  asm volatile("syscall"
               : "+a"(result)
               : "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(fourth), "r"(fifth), "r"(sixth)
               : "rcx", "r11", "memory");
  return result;
}

// Of io_submit; what it refuses is tried again with pwrite, which fails then.
long long submitted_bytes(const long (&arguments)[6]) {
  long long bytes = 0;
  iocb** blocks = reinterpret_cast<iocb**>(arguments[2]);
  for (long i = 0; i < arguments[1]; ++i)
    if (blocks[i]->aio_lio_opcode == IOCB_CMD_PWRITE) bytes += static_cast<long long>(blocks[i]->aio_nbytes);
  return bytes;
}

bool is_refused(long number, const long (&arguments)[6]) {
  return (number == SYS_fallocate && is_full(arguments[3])) || (number == SYS_pwrite64 && is_full(arguments[2])) ||
         (number == SYS_io_submit && is_full(submitted_bytes(arguments)));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) long syscall(long number, ...) {
  long arguments[6];
  va_list list;
  va_start(list, number);
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  if (is_refused(number, arguments)) {
    errno = ENOSPC;
    return -1;
  }
  const long result = call_kernel(number, arguments);
  if (result >= -4095 && result < 0) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}
