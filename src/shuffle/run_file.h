// A file that holds runs, is somebody else's, and stays as it is: a store reads them from there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace spillway::shuffle {

class RunFile {
 public:
  // By way of the file cache, or past it where the file system has that: then what is read again comes from the device.
  RunFile(std::string path, bool is_cached) : path_(std::move(path)), is_cached_(is_cached) {}

  // All three are multiples of storage::kBlockBytes. The result is 0 or an errno, EIO where the file ends before. Any
  // thread; it is open only meanwhile, as there may be thousands.
  int try_read(void* data, uint64_t bytes, uint64_t offset) const;
  // The same; ends the process where that fails.
  void read(void* data, uint64_t bytes, uint64_t offset) const;
  [[noreturn]] void fail_for_damage() const;

 private:
  std::string shown_path() const;

  const std::string path_;
  const bool is_cached_;
};

}  // namespace spillway::shuffle
