#include "shuffle/run_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"

namespace spillway::shuffle {
namespace {

int read_all(int file, char* to, uint64_t bytes, uint64_t offset) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = pread(file, to + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    done += static_cast<uint64_t>(got);
  }
  return 0;
}

}  // namespace

int RunFile::try_read(void* data, uint64_t bytes, uint64_t offset) const {
  auto* to = static_cast<char*>(data);
  const base::Descriptor file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return errno;
  if (!is_cached_ && fcntl(file.number(), F_SETFL, O_DIRECT) == 0) {
    const int error = read_all(file.number(), to, bytes, offset);
    if (error != EINVAL) return error;
    fcntl(file.number(), F_SETFL, 0);
  }
  return read_all(file.number(), to, bytes, offset);
}

// A message has room for its end.
std::string RunFile::shown_path() const {
  constexpr size_t kMost = 160;
  return path_.size() <= kMost ? path_ : "..." + path_.substr(path_.size() - kMost);
}

void RunFile::read(void* data, uint64_t bytes, uint64_t offset) const {
  if (const int error = try_read(data, bytes, offset))
    base::fatal(
        "cannot read %s at byte %llu\n"
        "  Cause:  %s.\n"
        "  Remedy: check the device and whether somebody has removed the file, and start the job again.",
        shown_path().c_str(), static_cast<unsigned long long>(offset), strerrordesc_np(error));
}

void RunFile::fail_for_damage() const {
  base::fatal(
      "%s has changed since the job began\n"
      "  Cause:  checksums differ; the device, its cable or driver, the machine's memory, or somebody has written to "
      "it.\n"
      "  Remedy: look into the system's log (dmesg), and start the job again, which then does not use what is damaged.",
      shown_path().c_str());
}

}  // namespace spillway::shuffle
