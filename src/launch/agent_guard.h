// Whether the agent of a node is stopped (SIGSTOP). The kernel answers for a stopped process, so the job's agent would
// never miss it, and it would outlive the job: one that is found stopped six times in a row, a second apart, is killed,
// and lost as if somebody else had killed it.
//
// The guard is the agent's parent and ends after it: the ranks' parents end before the agent does. Last of all of the
// node's processes, it removes what the launcher's daemon has left there (launch/mpi_session.h).
#pragma once

#include <sys/types.h>

namespace spillway::launch {

// What `ps` shows of such a process, which is of the program spillway-rank; its arguments are the agent's, and
// that of the launcher's daemon, which has started the node's ranks.
inline constexpr const char* kGuardName = "spillway-guard";

// Returns when both have ended: the agent, a child of this process, and the daemon. Sleeps until the agent has, unless
// that is stopped.
void guard_agent(pid_t agent, pid_t daemon);

}  // namespace spillway::launch
