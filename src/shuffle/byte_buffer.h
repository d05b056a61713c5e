// Memory whose bytes are not set to zero first, as those of std::vector are.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace spillway::shuffle {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  explicit ByteBuffer(size_t capacity) { replace(capacity); }

  char* data() { return memory_.get(); }
  const char* data() const { return memory_.get(); }
  size_t capacity() const { return capacity_; }

  // What was there before is gone.
  void replace(size_t capacity) {
    memory_.reset();
    capacity_ = 0;
    memory_.reset(static_cast<char*>(std::malloc(capacity + 1)));
    if (!memory_) throw std::bad_alloc();
    capacity_ = capacity;
  }

  // Gives up what is beyond the first bytes.
  void shrink(size_t capacity) {
    if (void* smaller = std::realloc(memory_.get(), capacity + 1)) {
      static_cast<void>(memory_.release());
      memory_.reset(static_cast<char*>(smaller));
      capacity_ = capacity;
    }
  }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char[], Free> memory_;
  size_t capacity_ = 0;
};

}  // namespace spillway::shuffle
