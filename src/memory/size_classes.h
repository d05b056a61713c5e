// The sizes of pieces that slabs are cut into: 16, 32, 48 and 64 bytes, then four to a doubling: 80, 96, 112, 128, 160,
// ..., 8192.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace spillway::memory {

constexpr uint32_t kSizeClasses = 32, kLargestPiece = 8192;

constexpr uint32_t class_of(size_t bytes) {
  if (bytes <= 64) return bytes == 0 ? 0 : static_cast<uint32_t>((bytes - 1) / 16);
  const auto width = static_cast<uint32_t>(std::bit_width(bytes - 1));
  return 4 * (width - 7) + static_cast<uint32_t>((bytes - 1) >> (width - 3));
}

constexpr uint32_t bytes_of_class(uint32_t size_class) {
  if (size_class < 4) return 16 * (size_class + 1);
  return (5 + size_class % 4) << (3 + size_class / 4);
}

static_assert(class_of(kLargestPiece) == kSizeClasses - 1 && bytes_of_class(kSizeClasses - 1) == kLargestPiece);
static_assert(class_of(65) == 4 && bytes_of_class(4) == 80 && class_of(1024) == 19 && bytes_of_class(19) == 1024);

namespace internal {

// Rounded up, so that (distance * inverse) >> 32 is distance / bytes for distances of up to 64 KiB.
constexpr std::array<uint32_t, kSizeClasses> inverses_of_sizes() {
  std::array<uint32_t, kSizeClasses> inverses{};
  for (uint32_t c = 0; c < kSizeClasses; ++c) inverses[c] = (~uint32_t{0} / bytes_of_class(c)) + 1;
  return inverses;
}
constexpr std::array<uint32_t, kSizeClasses> kInverses = inverses_of_sizes();

}  // namespace internal

// Of the piece that has the byte at `distance` of its slab. REQUIRES: distance < 64 KiB.
constexpr uint32_t number_of_piece(uint64_t distance, uint32_t size_class) {
  return static_cast<uint32_t>(distance * internal::kInverses[size_class] >> 32);
}

}  // namespace spillway::memory
