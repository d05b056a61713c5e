#include "file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace apps {

namespace {
// Linux transfers at most 2^31 - 4096 bytes per call.
constexpr size_t kMaxTransferBytes = size_t{1} << 30;
}  // namespace

File::File(const std::string& path, int flags, unsigned mode) : path_(path) {
  descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (descriptor_ < 0) {
    fail("cannot open");
  }
}

File::~File() {
  if (is_open()) {
    ::close(descriptor_);
  }
}

File::File(File&& other) noexcept : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void File::fail(const std::string& action) const {
  throw std::system_error(errno, std::generic_category(), action + " " + path_);
}

size_t File::read_some_at(uint64_t position, void* into, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const size_t part = std::min(bytes - done, kMaxTransferBytes);
    const ssize_t got = ::pread(descriptor_, static_cast<char*>(into) + done, part, position + done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      fail("cannot read");
    }
    if (got == 0) {
      break;
    }
    done += got;
  }
  return done;
}

void File::read_at(uint64_t position, void* into, size_t bytes) const {
  const size_t done = read_some_at(position, into, bytes);
  if (done < bytes) {
    throw std::runtime_error(path_ + " ends at byte " + std::to_string(position + done) + ", but " +
                             std::to_string(bytes) + " bytes were expected at " + std::to_string(position));
  }
}

void File::write_at(uint64_t position, const void* from, size_t bytes) const {
  size_t done = 0;
  while (done < bytes) {
    const size_t part = std::min(bytes - done, kMaxTransferBytes);
    const ssize_t put = ::pwrite(descriptor_, static_cast<const char*>(from) + done, part, position + done);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put < 0) {
      fail("cannot write");
    }
    done += put;
  }
}

void File::resize(uint64_t bytes) const {
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) {
    fail("cannot resize");
  }
}

void File::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    fail("cannot close");
  }
}

uint64_t File::size() const {
  struct stat status = {};
  if (::fstat(descriptor_, &status) != 0) {
    fail("cannot examine");
  }
  if (!S_ISREG(status.st_mode)) {
    throw std::runtime_error(path_ + " is not a regular file");
  }
  return status.st_size;
}

}  // namespace apps
