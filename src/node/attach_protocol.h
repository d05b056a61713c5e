// Messages between the node agent and the processes of its node, over a SOCK_SEQPACKET socket in the abstract
// namespace (no file to be left behind). The agent accepts only processes of its own user.
//
// Two kinds of process connect: `spillway-rank`, the parent of each rank, which stays connected until the rank has
// ended and then reports how; and the preloaded library inside the rank, when the program calls MPI_Init. A connection
// that closes tells the agent that the process is gone; the agent's closing tells the processes to end.
//
// The library also connects to the rank's parent, on a socket of the same kind, whenever it is to unload memory and the
// process has other threads: these are stopped until the connection closes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/spill_directories.h"

namespace spillway::node {

inline constexpr uint32_t kAttachMagic = 0x53504c41;  // "SPLA"
inline constexpr uint32_t kAttachVersion = 6;

// Names of environment variables. Set by the agent for spillway-rank, which hands them on to the program.
inline constexpr char kSocketVariable[] = "SPILLWAY_SOCKET";    // abstract socket name, without the leading NUL
inline constexpr char kParentVariable[] = "SPILLWAY_PARENT";    // the same of spillway-rank, set by itself
inline constexpr char kPreloadVariable[] = "SPILLWAY_PRELOAD";  // preloaded library, absolute path
// The same in a job on several nodes, where SPILLWAY_SOCKET is what the names of all nodes' sockets begin with: the
// ranks of each virtual node (0: a node is a host), and what the first rank of a node starts its agent with.
inline constexpr char kRanksPerNodeVariable[] = "SPILLWAY_RANKS_PER_NODE";
inline constexpr char kNodeCommandVariable[] = "SPILLWAY_NODE_COMMAND";  // words, each ended by a newline
inline constexpr char kJoinVariable[] = "SPILLWAY_JOIN";                 // where the job's agent listens
inline constexpr char kSecretVariable[] = "SPILLWAY_SECRET";             // proves that somebody is of the job
// That a message has with it: the segment's, the eventfd that the courier sleeps on, and that of a message spill file
// for each directory.
inline constexpr size_t kMostDescriptors = 2 + base::SpillDirectories::kMost;

enum class Role : uint32_t { rank_parent = 1, rank_library = 2 };

enum class MessageKind : uint32_t {
  hello = 1,      // process -> agent, first message
  welcome = 2,    // agent -> rank_library, with descriptors: the segment, the courier's bell, the message spill files;
                  // `text` is the node's spill directories, with `:` between them
  refused = 3,    // agent -> process, `text` says why
  started = 4,    // rank_parent -> agent: the program runs as `pid`
  exited = 5,     // rank_parent -> agent: the program ended with `wait_status` (as waitpid gives it)
  fatal = 6,      // rank_library -> agent: the rank gives up, `text` is the message for the user
  finalized = 7,  // rank_library -> agent: MPI_Finalize has been called
  release = 8,    // agent -> rank_parent: exit now, with the program's own status
  kill = 9,       // agent -> rank_parent: kill the program

  stop_threads = 10,         // rank_library -> rank_parent: stop all threads of the process but `pid`, the sender
  threads_stopped = 11,      // rank_parent -> rank_library: `wait_status` is a ThreadStop
  cannot_stop_threads = 12,  // rank_parent -> agent: the system does not allow it

  left_finalize = 13,  // rank_library -> agent: MPI_Finalize is over, no other rank waits for this one
};

// What came of stopping threads. `not_now`: one of them did not come to a stop in time; `not_allowed`: the system, or a
// debugger that has them, is against it.
enum class ThreadStop : int32_t { stopped, not_now, not_allowed };

struct AttachMessage {
  uint32_t magic;
  uint32_t version;
  uint32_t kind;        // MessageKind
  uint32_t role;        // Role, in hello
  int32_t world_rank;   // -1 where not known
  int32_t world_size;   // in hello of rank_library
  int32_t pid;          // in hello of rank_library, started and stop_threads
  int32_t wait_status;  // in exited and threads_stopped
  char text[4064];      // NUL-terminated
};
static_assert(sizeof(AttachMessage) == 4096);

}  // namespace spillway::node
