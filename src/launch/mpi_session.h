// The directory in which a daemon of Open MPI's launcher keeps what it has of one job: ompi.<host>.<user>/pid.<process>
// of the launcher itself, jf.<number> elsewhere, in the directory for temporary files. It removes that when it ends by
// itself, and leaves it behind when it is killed or loses the launcher.
#pragma once

#include <sys/types.h>

#include <string>

namespace spillway::launch {

// Of the launcher that has this process, on this host.
std::string session_of_launcher(pid_t launcher);

// By the process that is about to become that launcher. Launchers that make the directory themselves fail where the one
// of the user's jobs, which is in common, is removed by the last job's end in between: they begin once they find that
// it exists, or make it, and need it a moment later. What cannot be made is left for the launcher to tell of.
void make_session(const std::string& directory);

// Of the daemon that has started this process or an ancestor; empty for other launchers.
std::string session_of_daemon();

// The daemon names its directory to what it starts. A launcher that is started unsets it: it may be of a job that this
// one runs in.
inline constexpr char kSessionVariable[] = "PMIX_SERVER_TMPDIR";

// When the daemon has ended. Nothing where it has done so itself.
void remove_session(const std::string& directory);

}  // namespace spillway::launch
