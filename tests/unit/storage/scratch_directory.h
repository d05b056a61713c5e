// A directory of the test's own, on the file system that TMPDIR names; removed in the end, and reported when it is not
// empty then.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace spillway::storage {

class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    path_ = (parent / "spillway-unit-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr) ADD_FAILURE() << "cannot make a directory in " << parent;
  }
  ~ScratchDirectory() {
    EXPECT_TRUE(std::filesystem::is_empty(path_)) << "a file was left behind";
    std::filesystem::remove_all(path_);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

}  // namespace spillway::storage
