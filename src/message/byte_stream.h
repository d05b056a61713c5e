// Bytes on their way, from front to back: who passes them on needs room for a piece of them only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace spillway::message {

class ByteStream {
 public:
  // Copies the next `bytes` to `out`. REQUIRES: there are as many left.
  virtual void read(void* out, uint64_t bytes) = 0;

 protected:
  ~ByteStream() = default;
};

class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(const void* data) : next_(static_cast<const std::byte*>(data)) {}

  void read(void* out, uint64_t bytes) override {
    if (bytes != 0) memcpy(out, next_, bytes);
    next_ += bytes;
  }

 private:
  const std::byte* next_;
};

}  // namespace spillway::message
