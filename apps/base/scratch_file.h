// Files without a name, in a folder of the user's choice: nobody else can open one, and nothing of it is left behind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "file_io.h"

namespace apps {

// To read and write. Where the file system has no files without a name, it has one at first.
File open_scratch(const std::string& directory);

// $TMPDIR, or else /var/tmp.
std::string default_scratch_directory();

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& directory);

  void write_at(uint64_t position, std::span<const std::byte> from) const;
  void read_at(uint64_t position, std::span<std::byte> into) const;

  // From here on, what is read passes by the page cache: positions, sizes and addresses are multiples of 4096. What has
  // been written leaves the cache. Without effect where the file system has no O_DIRECT.
  void read_directly();
  [[nodiscard]] bool is_direct() const { return is_direct_; }

 private:
  File file_;
  bool is_direct_ = false;
};

}  // namespace apps
