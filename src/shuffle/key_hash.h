// The hash of a key: XXH3, 64 bits, of a short one with zeros behind it and its length as the seed. Which partition a
// record is of follows from it, so that a checkpoint of another hash is none (keyvalue/checkpoint_file.cpp, kMagic).
#pragma once

#include <cstdint>
#include <string_view>

#include "shuffle/short_bytes.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spillway::shuffle {

inline uint64_t key_hash(std::string_view key) {
  if (key.size() > ShortBytes::kMost) return XXH3_64bits(key.data(), key.size());
  const ShortBytes bytes = load_short(key.data(), key.size());
  return XXH3_64bits_withSeed(&bytes, sizeof bytes, key.size());
}

}  // namespace spillway::shuffle
