// Where the blocks go that come for this process.
#pragma once

#include <cstdint>

#include "shuffle/run.h"

namespace spillway::shuffle {

class BlockSink {
 public:
  virtual ~BlockSink() = default;
  // Memory that is about to be filled; may wait until there is room.
  virtual void charge(uint64_t bytes) = 0;
  // A run in memory, which has been charged.
  virtual void deliver(int sender, uint32_t partition, Run run) = 0;
  // What this sender has sent until now is one window, and the rest is of the next ones.
  virtual void end_window(int sender) = 0;
  // This sender sends nothing more.
  virtual void end(int sender) = 0;
};

}  // namespace spillway::shuffle
