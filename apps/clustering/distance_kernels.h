// The loops of distances.h, compiled once for each kind of processor: the compiler cuts vectors of 16 floats into those
// that the processor has. Results do not depend on it.
#pragma once

#include <cstddef>
#include <cstring>

#include "float_rows.h"

namespace apps::clustering {

struct DistanceKernels {
  using Function = void(const float* row, const float* others, size_t stride, float* distances);
  Function* one;
  Function* several;
  size_t several_count;  // as many others as the processor has registers for
};

const DistanceKernels& kernels_of_any_processor();
const DistanceKernels& kernels_with_avx2();
const DistanceKernels& kernels_with_avx512();

namespace {  // a copy of its own in each file that includes it

#if defined(__AVX512F__)
constexpr size_t kLanes = 16;
constexpr size_t kSeveral = 4;
#elif defined(__AVX2__)
constexpr size_t kLanes = 8;
constexpr size_t kSeveral = 2;
#else
constexpr size_t kLanes = 4;
constexpr size_t kSeveral = 1;
#endif
constexpr size_t kParts = FloatRows::kBlock / kLanes;

template <size_t kCount>
using Vector [[gnu::vector_size(kCount * sizeof(float)), gnu::may_alias]] = float;
using Lanes = Vector<kLanes>;

// The second half is added to the first one until one is left.
template <size_t kCount>
float total(const Vector<kCount>& sums) {
  if constexpr (kCount == 1) {
    return sums[0];
  } else {
    Vector<kCount / 2> halves[2];
    std::memcpy(halves, &sums, sizeof halves);
    return total<kCount / 2>(halves[0] + halves[1]);
  }
}

template <size_t kCount>
void distances_to(const float* row, const float* others, size_t stride, float* distances) {
  Lanes sums[kCount][kParts];
  for (Lanes(&of_other)[kParts] : sums)
    for (Lanes& sum : of_other) sum = Lanes{};
  for (size_t column = 0; column < stride; column += FloatRows::kBlock) {
    for (size_t part = 0; part < kParts; ++part) {
      const size_t place = column + part * kLanes;
      const Lanes& numbers = *reinterpret_cast<const Lanes*>(row + place);
      for (size_t other = 0; other < kCount; ++other) {
        const Lanes difference = numbers - *reinterpret_cast<const Lanes*>(others + other * stride + place);
        sums[other][part] += difference * difference;
      }
    }
  }
  for (size_t other = 0; other < kCount; ++other) {
    Lanes* parts = sums[other];
    for (size_t half = kParts / 2; half > 0; half /= 2)
      for (size_t part = 0; part < half; ++part) parts[part] += parts[part + half];
    distances[other] = total<kLanes>(parts[0]);
  }
}

constexpr DistanceKernels kKernels = {distances_to<1>, distances_to<kSeveral>, kSeveral};

}  // namespace

}  // namespace apps::clustering
