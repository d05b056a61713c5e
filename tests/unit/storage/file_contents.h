// What the tests write to spill files.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/error.h"

namespace spillway::storage {

inline constexpr uint64_t kMiB = 1 << 20;

// Memory as direct I/O needs it.
class Buffer {
 public:
  explicit Buffer(uint64_t bytes) : bytes_(bytes) {
    memory_ =
        static_cast<unsigned char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  ~Buffer() { munmap(memory_, bytes_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Buffer& fill(unsigned seed) {
    for (uint64_t i = 0; i < bytes_; ++i) memory_[i] = static_cast<unsigned char>(seed + i * 7 + i / 4096);
    return *this;
  }
  bool operator==(const Buffer& other) const { return memcmp(memory_, other.memory_, bytes_) == 0; }
  bool is_zero() const {
    return std::all_of(memory_, memory_ + bytes_, [](unsigned char byte) { return byte == 0; });
  }
  unsigned char* data() { return memory_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint64_t bytes_;
  unsigned char* memory_;
};

// What every spill file must be able to do, whatever the file system offers. Ends the process with a message if it
// cannot: run in children too.
template <typename File>
void check_keeps_what_is_written(File& file) {
  Buffer first(3 * kMiB), second(64 << 10), back(3 * kMiB), small(64 << 10);
  first.fill(1);
  second.fill(77);
  file.reserve(8 * kMiB, 3 * kMiB);
  file.write(first.data(), first.bytes(), 8 * kMiB);
  file.write(second.data(), second.bytes(), 9 * kMiB);
  file.drop_cache(8 * kMiB, 3 * kMiB);
  memcpy(first.data() + kMiB, second.data(), second.bytes());
  file.read(back.data(), back.bytes(), 8 * kMiB);
  SPILLWAY_CHECK(back == first);
  file.write_zeros(9 * kMiB, second.bytes());
  file.read(small.data(), small.bytes(), 9 * kMiB);
  SPILLWAY_CHECK(small.is_zero());
  file.read(small.data(), small.bytes(), 9 * kMiB + small.bytes());
  SPILLWAY_CHECK(memcmp(small.data(), first.data() + kMiB + small.bytes(), small.bytes()) == 0);
}

}  // namespace spillway::storage
