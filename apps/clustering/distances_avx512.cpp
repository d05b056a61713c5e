#include "distance_kernels.h"

namespace apps::clustering {

const DistanceKernels& kernels_with_avx512() { return kKernels; }

}  // namespace apps::clustering
