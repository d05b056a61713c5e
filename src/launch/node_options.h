// What the front end tells the agent of a job on its command line, and that one the agents of its nodes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/segment_layout.h"
#include "routing/selection.h"

namespace spillway::launch {

struct NodeOptions {
  uint32_t rank_count = 0;
  uint32_t slot_count = 0;
  uint64_t budget_bytes = 0;
  uint32_t cpu_count = 1;
  node::Strategy strategy = node::Strategy::automatic;
  std::string spill_directories;  // with `:` between them
  std::string preload;            // absolute path of the preloaded library
  int report_descriptor = -1;
  bool detects_deadlock = false;
  bool keeps_checksums = true;
  bool has_sessions = false;  // the MPI launcher keeps a directory of each job (launch/mpi_session.h)
  // Of a job on several nodes.
  std::string listen;           // numeric address where their agents join; empty: all ranks run here
  uint32_t ranks_per_node = 0;  // 0: a node is a host
  std::string ring;             // of hosts, for broadcasts (ring_of)
  routing::Selection selection;
  // Starts the agent of a node, when `--member <name>` is added; words, each ended by a newline. Empty: this program,
  // with the options of this one.
  std::string node_command;
  // Of the agent of such a node.
  std::string member;  // the name that its ranks attach to; empty: this is the job's agent
  std::string join;    // where the job's agent listens: address and port
  std::string secret;  // of the job
  // Why its host cannot give what was asked of it, and a remedy as in describe(Failure); empty: it can.
  std::string refusal;

  std::vector<char*> command;  // MPI launcher and its arguments, ended by a null pointer
};

// Returns an empty text, or what is wrong with the command line.
[[nodiscard]] std::string parse_node_options(int argc, char** argv, NodeOptions& options);

// What the first rank of a node starts its agent with.
std::string node_command_of(const NodeOptions& options, const std::string& own_program);

}  // namespace spillway::launch
