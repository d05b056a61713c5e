// A file that holds runs, is somebody else's, and stays as it is: a store reads them from there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace spillway::shuffle {

class RunFile {
 public:
  explicit RunFile(std::string path) : path_(std::move(path)) {}

  // What is in the file cache from there, all else past it where the file system has that. All three are multiples of
  // storage::kBlockBytes. The result is 0 or an errno, EIO where the file ends before. Any thread; it is open only
  // meanwhile, as there may be thousands.
  int try_read(void* data, uint64_t bytes, uint64_t offset) const;
  // The same, and leaves it in the file cache for the next time.
  int try_read_through_cache(void* data, uint64_t bytes, uint64_t offset) const;
  // The same; ends the process where that fails.
  void read(void* data, uint64_t bytes, uint64_t offset) const;
  [[noreturn]] void fail_for_damage() const;

 private:
  std::string shown_path() const;

  const std::string path_;
};

}  // namespace spillway::shuffle
