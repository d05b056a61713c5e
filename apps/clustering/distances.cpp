#include "distances.h"

#include "distance_kernels.h"

namespace apps::clustering {
namespace {

const DistanceKernels& fastest_kernels() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return kernels_with_avx512();
  if (__builtin_cpu_supports("avx2")) return kernels_with_avx2();
#endif
  return kernels_of_any_processor();
}

const DistanceKernels& kernels = fastest_kernels();

}  // namespace

const DistanceKernels& kernels_of_any_processor() { return kKernels; }

float squared_distance(const float* first, const float* second, size_t stride) {
  float distance = 0;
  kernels.one(first, second, stride, &distance);
  return distance;
}

void squared_distances(const float* row, const float* others, size_t count, size_t stride, float* distances) {
  size_t done = 0;
  for (const size_t several = kernels.several_count; done + several <= count; done += several)
    kernels.several(row, others + done * stride, stride, distances + done);
  for (; done < count; ++done) kernels.one(row, others + done * stride, stride, distances + done);
}

}  // namespace apps::clustering
