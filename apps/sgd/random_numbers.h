// Numbers that are a function of a key and a counter: whoever needs one computes it, so that results depend neither on
// the number of ranks nor on who computes when. apps/README.md specifies them.
#pragma once

#include <cstdint>

#include "random_bits.h"

namespace apps::sgd {

inline uint64_t mix(uint64_t value) { return mix_bits(value + kMixStep); }

inline uint64_t random_number(uint64_t key, uint64_t counter) { return mix(mix(key) ^ counter); }

// What the seed is used for; the first counter under it.
enum class Purpose : uint64_t { rows_factors = 1, columns_factors = 2, permutation = 3 };

inline uint64_t key_of(uint64_t seed, Purpose purpose) { return random_number(seed, static_cast<uint64_t>(purpose)); }

}  // namespace apps::sgd
