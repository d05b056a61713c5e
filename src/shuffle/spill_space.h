// The spill files of one process, one in each directory, and which parts of them are in use.
//
// A file is made when it is first written to: most jobs never do. Where one device is full, or no file can be made, the
// next one is asked; when all are, the process ends with a message.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/spill_file.h"

namespace spillway::shuffle {

class SpillSpace {
 public:
  // At least one directory.
  explicit SpillSpace(const std::vector<std::string>& directories);
  ~SpillSpace();
  SpillSpace(const SpillSpace&) = delete;
  SpillSpace& operator=(const SpillSpace&) = delete;

  // All sizes are rounded up to blocks of storage::kBlockBytes. Any thread may call these. A range lies in one
  // directory; they take turns.
  uint64_t allocate(uint64_t bytes);
  void release(uint64_t offset, uint64_t bytes);

  // As of storage::SpillFile, of a range that has been allocated.
  void write(const void* data, uint64_t bytes, uint64_t offset) {
    place_of(offset).file.write(data, bytes, offset & kWithinFile);
  }
  void read(void* data, uint64_t bytes, uint64_t offset) {
    place_of(offset).file.read(data, bytes, offset & kWithinFile);
  }
  [[noreturn]] void fail_for_damage(uint64_t offset) { place_of(offset).file.fail_for_damage(); }

  // Of all files.
  uint64_t size();

 private:
  struct Place {
    explicit Place(std::string name) : directory(std::move(name)) {}
    const std::string directory;
    storage::SpillFile file;
    std::map<uint64_t, uint64_t> free;  // bytes by offset; no two touch
    uint64_t size = 0;
  };

  // The upper bits of an offset are the number of its place.
  static constexpr int kFileBits = 52;
  static constexpr uint64_t kWithinFile = (uint64_t{1} << kFileBits) - 1;

  std::optional<uint64_t> allocate_in(size_t number, uint64_t bytes);
  Place& place_of(uint64_t offset) { return places_[offset >> kFileBits]; }

  std::mutex mutex_;
  std::deque<Place> places_;
  size_t next_place_ = 0;
};

inline uint64_t rounded_to_blocks(uint64_t bytes) {
  return (bytes + storage::kBlockBytes - 1) / storage::kBlockBytes * storage::kBlockBytes;
}

}  // namespace spillway::shuffle
