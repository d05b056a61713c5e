// The orders in which a block is taken: pseudorandom bijections whose numbers come from a key, as apps/README.md says.
#pragma once

#include <cstdint>

#include "random_numbers.h"
#include "random_permutation.h"

namespace apps::sgd {

class Permutation {
 public:
  // REQUIRES: size from 1 to 2^32.
  Permutation(uint64_t size, uint64_t key)
      : permutation_(size, [key, counter = uint64_t{0}]() mutable { return random_number(key, counter++); }) {}

  // REQUIRES: place < size.
  uint32_t operator()(uint32_t place) const { return static_cast<uint32_t>(permutation_(place)); }

 private:
  RandomPermutation permutation_;
};

}  // namespace apps::sgd
