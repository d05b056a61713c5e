// An array of counts or displacements as the program passes it, in int or in MPI_Count or MPI_Aint.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace spillway::collective {

class Numbers {
 public:
  Numbers(const int* narrow) : narrow_(narrow) {}  // NOLINT(google-explicit-constructor): either form is meant
  template <typename Wide>
  requires(sizeof(Wide) == 8) Numbers(const Wide* wide)
      : wide_(reinterpret_cast<const int64_t*>(wide)) {}  // NOLINT(google-explicit-constructor)
  explicit Numbers(std::vector<int64_t> numbers)
      : kept_(std::make_shared<const std::vector<int64_t>>(std::move(numbers))), wide_(kept_->data()) {}

  static Numbers same(int64_t number, int count) {
    return Numbers(std::vector<int64_t>(static_cast<size_t>(count), number));
  }

  int64_t operator[](int i) const { return narrow_ != nullptr ? narrow_[i] : wide_ != nullptr ? wide_[i] : 0; }

  // The first `count` of them, without the program's array.
  Numbers kept(int count) const {
    std::vector<int64_t> numbers(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = (*this)[i];
    return Numbers(std::move(numbers));
  }

 private:
  std::shared_ptr<const std::vector<int64_t>> kept_;
  const int* narrow_ = nullptr;
  const int64_t* wide_ = nullptr;
};

}  // namespace spillway::collective
