#include "sort/direct_file.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "sort/failure.h"

namespace spillway::sort {
namespace {

DirectFile open_direct(const std::string& path, int flags, const char* what) {
  DirectFile file{path, base::Descriptor(open(path.c_str(), flags | O_CLOEXEC | O_DIRECT)), true};
  if (!file.descriptor && errno == EINVAL)
    file = {path, base::Descriptor(open(path.c_str(), flags | O_CLOEXEC)), false};
  if (!file.descriptor)
    throw Failure(std::string("cannot open ") + path + " to " + what + ": " + std::strerror(errno),
                  "look at its name, its permissions and those of its directory");
  return file;
}

}  // namespace

DirectFile open_to_read(const std::string& path) { return open_direct(path, O_RDONLY, "read it"); }

DirectFile open_to_write(const std::string& path) { return open_direct(path, O_WRONLY, "write it"); }

}  // namespace spillway::sort
