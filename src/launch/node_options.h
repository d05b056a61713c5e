// What the front end tells the node agent on its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/segment_layout.h"

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
  std::vector<char*> command;  // MPI launcher and its arguments, ended by a null pointer
};

// Returns an empty text, or what is wrong with the command line.
[[nodiscard]] std::string parse_node_options(int argc, char** argv, NodeOptions& options);

}  // namespace spillway::launch
