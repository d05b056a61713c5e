#include "sort/long_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "sort/failure.h"

namespace spillway::sort {
namespace {

constexpr size_t kReadAtATime = 64 << 10;

}  // namespace

std::string read_line(const std::string& path, uint64_t offset, uint64_t most_bytes) {
  const base::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string line;
  while (file && line.size() <= most_bytes) {
    const size_t before = line.size();
    line.resize(before + kReadAtATime);
    const ssize_t got = pread(file.number(), line.data() + before, kReadAtATime, static_cast<off_t>(offset + before));
    const int error = errno;
    line.resize(before + static_cast<size_t>(got > 0 ? got : 0));
    if (got < 0 && error == EINTR) continue;
    errno = error;
    if (got < 0) break;
    const size_t end = line.find('\n', before);
    if (end != std::string::npos) line.resize(end);
    if (end != std::string::npos || got == 0) return line;
  }
  if (line.size() > most_bytes) return line.substr(0, most_bytes + 1);
  throw Failure("cannot read " + path + " at byte " + std::to_string(offset) + ": " + std::strerror(errno),
                "look at the device, and at the system's log (dmesg)");
}

}  // namespace spillway::sort
