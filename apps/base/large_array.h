// One large allocation of uninitialized elements. Every array whose size grows with the graph is one of these: large
// blocks come page-aligned from the system, go back to it the moment they are released, and may use huge pages, which
// random access to them needs (a 4 KiB page table entry covers 512 doubles, and the arrays have millions).
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace apps {

template <typename T>
class LargeArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  LargeArray() = default;
  explicit LargeArray(size_t size) : elements_(std::make_unique_for_overwrite<T[]>(size)), size_(size) {
    advise_huge_pages();
  }
  LargeArray(size_t size, T value) : LargeArray(size) { std::fill_n(data(), size, value); }

  LargeArray(LargeArray&& other) noexcept
      : elements_(std::move(other.elements_)), size_(std::exchange(other.size_, 0)) {}
  LargeArray& operator=(LargeArray&& other) noexcept {
    elements_ = std::move(other.elements_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] T* data() { return elements_.get(); }
  [[nodiscard]] const T* data() const { return elements_.get(); }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t size_bytes() const { return size_ * sizeof(T); }
  T& operator[](size_t index) { return elements_[index]; }
  const T& operator[](size_t index) const { return elements_[index]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

  void release() {
    elements_.reset();
    size_ = 0;
  }

 private:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;

  // Only advice, and only for whole huge pages inside the block: the result does not matter.
  void advise_huge_pages() {
    const auto begin = reinterpret_cast<uintptr_t>(data());
    const uintptr_t first = (begin + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
    const uintptr_t last = (begin + size_bytes()) / kHugePageBytes * kHugePageBytes;
    if (last > first) {
      static_cast<void>(::madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE));
    }
  }

  std::unique_ptr<T[]> elements_;
  size_t size_ = 0;
};

}  // namespace apps
