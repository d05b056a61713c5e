#include "random_permutation.h"

#include "random_bits.h"

namespace apps {

BitPermutation::BitPermutation(unsigned bits, uint64_t seed)
    : BitPermutation(bits, [random = RandomBits(~seed)]() mutable { return random.next(); }) {}

}  // namespace apps
