// Ending what a process has left behind. For processes that are the reaper of their orphaned descendants.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace spillway::launch {

// Makes orphaned descendants of this process its children.
void adopt_orphans();

// Waits until none is left that would end by itself in so much time.
void let_descendants_end(uint64_t patience_ns);

// One that has been killed and is still there.
struct Endless {
  pid_t process;
  char state;  // a letter of proc(5), of the thread that keeps it
};

// Kills every child and waits for it, until none is left; their own children become ours and end the same way. One that
// waits for a device which does not answer (state D) may never end, while one that frees much memory does: returns
// those that are left when each of them has been in state D for five seconds, or after two minutes.
std::vector<Endless> end_descendants();

}  // namespace spillway::launch
