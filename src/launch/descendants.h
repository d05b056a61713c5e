// Ending what a process has left behind. For processes that are the reaper of their orphaned descendants.
#pragma once

namespace spillway::launch {

// Makes orphaned descendants of this process its children.
void adopt_orphans();

// Kills every child and waits for it, until none is left; their own children become ours and end the same way.
void end_descendants();

}  // namespace spillway::launch
