// What a process has done in the first stage other than dealing out, for comparisons (hybrid-sort.txt, table 1).
#pragma once

#include <cstdint>

namespace spillway::sort {

struct ReadStageTimes {
  uint64_t waited_ns = 0;   // without a block to deal out, where some were still to come
  uint64_t flushed_ns = 0;  // until the last chunks were written
};

}  // namespace spillway::sort
