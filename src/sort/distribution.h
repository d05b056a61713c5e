// The first stage (hybrid-sort.txt, read stage): blocks are read, delivered to sorters, and dealt out to buckets there,
// all at once. A process may be reader, sorter, or both.
#pragma once

#include <vector>

#include "sort/aligned_memory.h"
#include "sort/async_io.h"
#include "sort/dealer.h"
#include "sort/input_files.h"
#include "sort/input_plan.h"
#include "sort/pause.h"
#include "sort/progress.h"
#include "sort/read_stage_times.h"
#include "sort/staging.h"

namespace spillway::sort {

class Distribution {
 public:
  Distribution(const InputPlan& plan, InputFiles& files, Dealer& dealer, Staging& staging, AsyncIo& io,
               Progress& progress, uint64_t slot_bytes, bool is_reader);

  // Returns when all blocks that come to this process are in its store, and all that it has taken are delivered.
  void run();

  const ReadStageTimes& times() const { return times_; }

 private:
  enum class Step { claiming, reading, read, delivering, over };
  // A block on its way.
  struct Reading {
    uint64_t block;
    InputPlan::Block of;
    Staging::Place place;
    Step step = Step::claiming;
    bool waits_for_ring = false;
    uint64_t rings = 0;  // before it began to wait
    uint64_t delivery = 0;
    LastingMemory memory;  // where the sorter is on another node
  };

  bool take_blocks();
  bool advance(Reading& reading);
  bool is_delivering_to(int sorter) const;
  char* memory_for(Reading& reading);
  void start_reading(Reading& reading, char* to);
  bool use_next_block();
  void ring_waiters();
  void deal_out(const char* memory, const InputPlan::Block& block);
  void idle(uint64_t rings);

  const InputPlan& plan_;
  InputFiles& files_;
  Dealer& dealer_;
  Staging& staging_;
  AsyncIo& io_;
  Progress& progress_;
  const uint64_t slot_bytes_;
  bool has_more_to_read_;
  std::vector<Reading> readings_;
  std::vector<LastingMemory> spare_;  // of readings that are over
  std::vector<int> to_ring_;          // who waits for a buffer here that is free now
  uint64_t used_ = 0;                 // blocks that have come here and are in the store
  uint64_t own_blocks_;
  ReadStageTimes times_;
  Pause pause_;
};

}  // namespace spillway::sort
