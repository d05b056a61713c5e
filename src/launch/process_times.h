// What the kernel says of a process of this machine.
#pragma once

#include <cstdint>

namespace spillway::launch {

struct ProcessTimes {
  char state = '?';        // of its first thread, a letter of proc(5); ?: there is no such process
  uint64_t cpu_ticks = 0;  // of all threads; a tick is a hundredth of a second
};

ProcessTimes times_of(int pid);

// Of a process that was killed: D when any of its threads is in that state, else that of a thread which has not ended
// yet. The first thread may have ended long before the last one; Z when all have, ? when there is no such process.
char state_of_last_threads(int pid);

}  // namespace spillway::launch
