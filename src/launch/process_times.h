// What the kernel says of a process of this machine.
#pragma once

#include <cstdint>

namespace spillway::launch {

struct ProcessTimes {
  char state = '?';        // of its first thread, a letter of proc(5); ?: there is no such process
  uint64_t cpu_ticks = 0;  // of all threads; a tick is a hundredth of a second
};

ProcessTimes times_of(int pid);

}  // namespace spillway::launch
