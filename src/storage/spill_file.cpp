#include "storage/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/system_calls.h"

namespace spillway::storage {
namespace {

namespace kernel = base::kernel;

alignas(4096) constexpr char kZeros[65536] = {};

int open_nameless(const char* directory) {
  int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
  char path[4096];
  snprintf(path, sizeof path, "%s/spillway-XXXXXX", directory);
  descriptor = mkostemp(path, O_CLOEXEC);
  if (descriptor >= 0) unlink(path);
  return descriptor;
}

}  // namespace

void SpillFile::fail(const char* what, uint64_t bytes, int error) const {
  const auto mebibytes = static_cast<unsigned long long>((bytes + (1 << 20) - 1) >> 20);
  if (error == ENOSPC || error == EDQUOT)
    base::fatal(
        "cannot put %llu MiB more into the spill directory %.200s\n"
        "  Cause:  %s.\n"
        "  Remedy: free space there, or name a directory on a larger file system with --spill-dir.",
        mebibytes, directory_, strerrordesc_np(error));
  if (error == EFBIG)
    base::fatal(
        "cannot put %llu MiB more into the spill directory %.200s\n"
        "  Cause:  a file may not grow that large, there or for this user (ulimit -f).\n"
        "  Remedy: raise the limit, or name a directory on another file system with --spill-dir.",
        mebibytes, directory_);
  base::fatal(
      "cannot %s %llu MiB in the spill directory %.200s\n"
      "  Cause:  %s.\n"
      "  Remedy: check the device, or name a directory on another one with --spill-dir.",
      what, mebibytes, directory_, strerrordesc_np(error));
}

void SpillFile::fail_for_damage() const {
  base::fatal(
      "read something else from the spill directory %.200s than had been written\n"
      "  Cause:  checksums differ; the device, its cable or driver, or the machine's memory.\n"
      "  Remedy: look into the system's log (dmesg), check both, or name a directory on another device with "
      "--spill-dir.",
      directory_);
}

void SpillFile::try_direct() {
  const int flags = kernel::control(descriptor_, F_GETFL);
  direct_ = kernel::control(descriptor_, F_SETFL, flags | O_DIRECT) == 0;
}

// Some file systems accept the flag and refuse the I/O. Returns false when there was nothing to give up.
bool SpillFile::give_up_direct() {
  if (!direct_) return false;
  direct_ = false;
  return kernel::control(descriptor_, F_SETFL, kernel::control(descriptor_, F_GETFL) & ~O_DIRECT) == 0;
}

bool SpillFile::try_create(const char* directory) {
  directory_ = directory;
  descriptor_ = open_nameless(directory);
  if (descriptor_ < 0) return false;
  try_direct();
  return true;
}

void SpillFile::create(const char* directory) {
  if (!try_create(directory))
    base::fatal(
        "cannot create a file in the spill directory %.200s\n"
        "  Cause:  %s.\n"
        "  Remedy: make room or give the permission there, or name another directory with --spill-dir.",
        directory, strerrordesc_np(errno));
}

void SpillFile::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  size_ = 0;
}

void SpillFile::adopt(int descriptor, const char* directory) {
  directory_ = directory;
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  descriptor_ = open(path, O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) {  // some file systems cannot open a file without a name; the flag is not this process's alone
    descriptor_ = descriptor;
    return;
  }
  ::close(descriptor);
  try_direct();
}

// A write beyond the limit of the user's shell (ulimit -f) would end the process with a signal and without a message.
bool SpillFile::is_within_size_limit(uint64_t end) const {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || end <= limit.rlim_cur;
}

void SpillFile::check_size_limit(uint64_t end, uint64_t bytes) const {
  if (!is_within_size_limit(end)) fail("reserve", bytes, EFBIG);
}

void SpillFile::reserve(uint64_t offset, uint64_t bytes) {
  if (const int error = reserve_or_error(offset, bytes)) fail("reserve", bytes, error);
}

bool SpillFile::try_reserve(uint64_t offset, uint64_t bytes) {
  const int error = reserve_or_error(offset, bytes);
  if (error != 0 && error != ENOSPC && error != EDQUOT && error != EFBIG) fail("reserve", bytes, error);
  return error == 0;
}

// After an error the file is as long as before: so what was allocated of the range goes back.
int SpillFile::reserve_or_error(uint64_t offset, uint64_t bytes) {
  const uint64_t size = size_;
  if (offset + bytes > size) {
    if (!is_within_size_limit(offset + bytes)) return EFBIG;
    if (kernel::set_size(descriptor_, offset + bytes) != 0) return errno;
    size_ = offset + bytes;
  }
  if (kernel::allocate(descriptor_, FALLOC_FL_KEEP_SIZE, offset, bytes) == 0) return 0;
  const int error = errno;
  // File systems without preallocation allocate as they are written.
  if (error == EOPNOTSUPP || error == EINTR) return 0;
  if (size_ != size && kernel::set_size(descriptor_, size) == 0) size_ = size;
  return error;
}

bool SpillFile::zero_range(uint64_t offset, uint64_t bytes) {
  return kernel::allocate(descriptor_, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, offset, bytes) == 0;
}

void SpillFile::write_zeros(uint64_t offset, uint64_t bytes) {
  if (zero_range(offset, bytes)) return;
  for (uint64_t done = 0; done < bytes; done += sizeof kZeros)
    write(kZeros, std::min<uint64_t>(sizeof kZeros, bytes - done), offset + done);
}

void SpillFile::forget(uint64_t offset, uint64_t bytes) {
  if (!zero_range(offset, bytes)) drop_cache(offset, bytes);
}

void SpillFile::write(const void* data, uint64_t bytes, uint64_t offset) {
  auto* from = static_cast<const char*>(data);
  check_size_limit(offset + bytes, bytes);
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t request = std::min(kRequestBytes, bytes - done);
    const ssize_t written = kernel::write_at(descriptor_, from + done, request, offset + done);
    if (written < 0 && (errno == EINTR || (errno == EINVAL && give_up_direct()))) continue;
    if (written <= 0) fail("write", bytes - done, written < 0 ? errno : EIO);
    done += static_cast<uint64_t>(written);
  }
  if (!direct_) write_back(offset, bytes);
}

// Where blocks are allocated as they are written back, a full device shows only here.
void SpillFile::write_back(uint64_t offset, uint64_t bytes) {
  const int failed = kernel::write_back(
      descriptor_, offset, bytes, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  if (failed != 0 && (errno == ENOSPC || errno == EDQUOT || errno == EIO)) fail("write", bytes, errno);
}

void SpillFile::read(void* data, uint64_t bytes, uint64_t offset) {
  auto* to = static_cast<char*>(data);
  for (uint64_t done = 0; done < bytes;) {
    const uint64_t request = std::min(kRequestBytes, bytes - done);
    const ssize_t got = kernel::read_at(descriptor_, to + done, request, offset + done);
    if (got < 0 && (errno == EINTR || (errno == EINVAL && give_up_direct()))) continue;
    if (got <= 0) fail("read back", bytes - done, got < 0 ? errno : EIO);
    done += static_cast<uint64_t>(got);
  }
}

void SpillFile::drop_cache(uint64_t offset, uint64_t bytes) {
  kernel::advise_file(descriptor_, offset, bytes, POSIX_FADV_DONTNEED);
}

}  // namespace spillway::storage
