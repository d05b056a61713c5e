"""Libraries to put before a program, which make it meet what a test cannot bring about otherwise."""

import subprocess
from pathlib import Path
from typing import Dict

# A disk that is full for output files, in the process of one rank, or where FULL_FOR is empty in one without MPI.
FULL_DISK = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_full(int descriptor) {
  const char* rank = getenv("PMI_RANK") != nullptr ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, name, sizeof name);
  return length > 8 && memcmp(name + length - 8, ".partial", 8) == 0 && strcmp(rank ? rank : "", FULL_FOR) == 0;
}

extern "C" ssize_t pwrite(int descriptor, const void* from, size_t bytes, off_t position) {
  if (is_full(descriptor)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_pwrite64, descriptor, from, bytes, position);
}
extern "C" ssize_t pwrite64(int, const void*, size_t, off64_t) __attribute__((alias("pwrite")));
"""

# Instead of Spillway: writes down what ranks ask for, a line for each call: operation and bytes.
RECORDED_RANGES = r"""
#include <stdio.h>

extern "C" int spillway_range_of_rank(int operation, void*, size_t bytes) {
  FILE* file = fopen(RECORD, "a");
  fprintf(file, "%d %zu\n", operation, bytes);
  fclose(file);
  return 0;
}
"""

# A file system without O_DIRECT, which refuses it when a file is opened and later.
NO_DIRECT = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if (flags & O_DIRECT) {
    errno = EINVAL;
    return -1;
  }
  return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
extern "C" int open64(const char*, int, ...) __attribute__((alias("open")));

extern "C" int fcntl(int descriptor, int command, ...) {
  va_list list;
  va_start(list, command);
  const unsigned long value = va_arg(list, unsigned long);
  va_end(list);
  if (command == F_SETFL && (value & O_DIRECT)) {
    errno = EINVAL;
    return -1;
  }
  return syscall(SYS_fcntl, descriptor, command, value);
}
extern "C" int fcntl64(int, int, ...) __attribute__((alias("fcntl")));
"""

# A disk from which files without a name cannot be read directly.
BROKEN_DISK = r"""
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" ssize_t pread(int descriptor, void* into, size_t bytes, off_t position) {
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, name, sizeof name);
  const bool is_direct = fcntl(descriptor, F_GETFL) & O_DIRECT;
  if (is_direct && length > 10 && memcmp(name + length - 10, " (deleted)", 10) == 0) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, descriptor, into, bytes, position);
}
extern "C" ssize_t pread64(int, void*, size_t, off64_t) __attribute__((alias("pread")));
"""


def preload(folder: Path, source: str, **definitions: str) -> Dict[str, str]:
    """The environment in which programs have the library; macros get their definitions as strings."""
    path, library = folder / "preloaded.cpp", folder / "preloaded.so"
    path.write_text(source)
    macros = [f'-D{name}="{value}"' for name, value in definitions.items()]
    words = ["c++", "-shared", "-fPIC", *macros, str(path), "-o", str(library)]
    subprocess.run(words, check=True, timeout=60)
    return {"LD_PRELOAD": str(library)}


def full_disk(folder: Path, rank: str = "") -> Dict[str, str]:
    return preload(folder, FULL_DISK, FULL_FOR=rank)
