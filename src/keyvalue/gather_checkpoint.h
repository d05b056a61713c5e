// With a checkpoint: what processes gather before the first task (MPI_D_Allgather), as a sample of the input by which
// records are divided. A start that goes on from the checkpoint gets what was gathered when it began: what is kept has
// been divided by that, and input that only one host has may be other than it was.
#pragma once

#include <string>
#include <vector>

#include "keyvalue/checkpoint.h"

namespace spillway::keyvalue {

class GatherCheckpoint {
 public:
  // Collective. `is_restored`: what an earlier start has done is not done again.
  GatherCheckpoint(const CheckpointDirectory& directory, bool is_restored);

  // What the next call had gathered; false where it is to gather by itself. Throws Failure where that is not known.
  bool restore(std::string& gathered);
  void add(const std::string& gathered) {
    if (directory_.process() == 0) gathered_.push_back(gathered);
  }
  // Process 0 brings it to the disk. Before anything else of this start is kept.
  void commit();

 private:
  void read();

  const CheckpointDirectory& directory_;
  const bool is_restored_;
  std::vector<std::string> gathered_;  // call by call
  size_t next_ = 0;                    // of those that are restored
};

}  // namespace spillway::keyvalue
