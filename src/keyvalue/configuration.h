// The configuration of a job, as the program and the environment give it: the table of MPI_D_Init()'s keys.
#pragma once

#include <spillway/mpid.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compression/codec.h"
#include "shuffle/item_class.h"

namespace spillway::keyvalue {

inline constexpr uint64_t kLeastPartitionBytes = 4 << 10;

struct Configuration {
  shuffle::ItemClass key_class = shuffle::ItemClass::string;
  shuffle::ItemClass value_class = shuffle::ItemClass::string;
  int o_tasks = 0;  // 0: not given, as in all that follow
  int a_tasks = 0;
  uint64_t memory_bytes = 0;
  uint64_t partition_bytes = 0;
  std::vector<std::string> spill_directories;
  std::string checkpoint_directory;  // empty: there are none
  uint64_t checkpoint_interval_ns = 2'000'000'000;
  compression::Codec output_codec = compression::Codec::none;
  std::string input_plan;                // what the program has planned of its input, the same in all processes
  std::vector<std::string> input_hosts;  // of each O task, where its input is; empty: all may run anywhere
  int reduction_group = 0;               // processes that combine together before they send; 0: those of a machine
  uint64_t latency_ns = 1'000'000;       // of the streaming mode, as the next one
  uint64_t window_ns = 0;                // 0: windows end when the program says so
};

// What the program has planned of its input, and where it is.
std::string whole_input_plan(const Configuration& configuration);

// Throws Failure, which names the entry. `conf` may be null.
Configuration read_configuration(const MPI_D_Entry* conf);

// Fills in sizes and directories where they were not given. Of all processes `local_processes` share the machine's
// memory.
void choose_defaults(Configuration& configuration, MPI_D_Mode mode, int processes, int local_processes);

}  // namespace spillway::keyvalue
