#include "launch/message_spill_file.h"

#include <errno.h>
#include <fcntl.h>

#include <cstdlib>
#include <system_error>

namespace spillway::launch {

Descriptor make_message_spill_file(const std::string& directory) {
  Descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {  // a file system without O_TMPFILE: the name lives for an instant
    std::string path = directory + "/spillway-messages-XXXXXX";
    file = Descriptor(mkostemp(path.data(), O_CLOEXEC));
    if (!file) throw std::system_error(errno, std::generic_category(), "cannot make a spill file in " + directory);
    unlink(path.c_str());
  }
  return file;
}

}  // namespace spillway::launch
