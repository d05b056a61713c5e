#include "launch/message_spill_file.h"

#include <errno.h>
#include <fcntl.h>

#include <cstdlib>
#include <system_error>

#include "base/spill_directories.h"

namespace spillway::launch {
namespace {

base::Descriptor make_message_spill_file(const std::string& directory) {
  base::Descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file) {  // a file system without O_TMPFILE: the name lives for an instant
    std::string path = directory + "/spillway-messages-XXXXXX";
    file = base::Descriptor(mkostemp(path.data(), O_CLOEXEC));
    if (!file) throw std::system_error(errno, std::generic_category(), "cannot make a spill file in " + directory);
    unlink(path.c_str());
  }
  return file;
}

}  // namespace

std::vector<base::Descriptor> make_message_spill_files(const std::string& directories) {
  std::string text = directories;
  const auto listed = base::SpillDirectories::listed_in(text.data());
  std::vector<base::Descriptor> files;
  for (size_t i = 0; i < listed.count; ++i) files.push_back(make_message_spill_file(listed.paths[i]));
  return files;
}

}  // namespace spillway::launch
