#include "partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace apps {

PartialFile::PartialFile(const std::string& path) : path_(path) {
  std::error_code ignored;  // opening says it
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw std::runtime_error("cannot write " + path + ": it is there and no file; name another");
  }
  file_ = File(partial_path(path), O_RDWR | O_CREAT | O_TRUNC);
}

PartialFile::~PartialFile() {
  if (!is_finished_) {
    ::unlink(partial_path(path_).c_str());
  }
}

void PartialFile::finish() {
  file_.close();
  std::filesystem::rename(partial_path(path_), path_);
  is_finished_ = true;
}

}  // namespace apps
