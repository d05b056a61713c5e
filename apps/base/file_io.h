// Positioned file I/O that either does all of it or throws std::system_error or std::runtime_error with a message that
// names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace apps {

class File {
 public:
  File() = default;
  // `flags` and `mode` are those of open(2).
  File(const std::string& path, int flags, unsigned mode = 0666);
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;

  // Reads exactly `bytes`; throws when the file ends before.
  void read_at(uint64_t position, void* into, size_t bytes) const;
  // Reads up to `bytes`; fewer only at the end of the file.
  size_t read_some_at(uint64_t position, void* into, size_t bytes) const;
  void write_at(uint64_t position, const void* from, size_t bytes) const;
  // Sets the size, and closes with its errors reported.
  void resize(uint64_t bytes) const;
  void close();

  [[nodiscard]] uint64_t size() const;
  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail(const std::string& action) const;

  std::string path_;
  int descriptor_ = -1;
};

}  // namespace apps
