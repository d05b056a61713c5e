// Ending what a process has left behind. For processes that are the reaper of their orphaned descendants.
#pragma once

#include <cstdint>

namespace spillway::launch {

// Makes orphaned descendants of this process its children.
void adopt_orphans();

// Waits until none is left that would end by itself in so much time.
void let_descendants_end(uint64_t patience_ns);

// Kills every child and waits for it, until none is left; their own children become ours and end the same way.
void end_descendants();

}  // namespace spillway::launch
