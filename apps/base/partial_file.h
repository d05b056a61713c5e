// A file that appears under its name only when it is complete.
#pragma once

#include <string>

#include "file_io.h"

namespace apps {

// Where the file at `path` is while it is written.
inline std::string partial_path(const std::string& path) { return path + ".partial"; }

// One that is destroyed before finish() removes what has been written; what was at `path` before stays.
class PartialFile {
 public:
  // Throws also where something other than a file is at `path`, which finish() would replace.
  explicit PartialFile(const std::string& path);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  [[nodiscard]] const File& file() const { return file_; }
  void finish();

 private:
  const std::string path_;
  File file_;
  bool is_finished_ = false;
};

}  // namespace apps
