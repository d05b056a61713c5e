// The first stage with two-sided delivery, the design that hybrid-sort.txt compares its own with (section 3.1). It is
// there for that comparison: what it reads with, deals out with and has for memory is the same as in distribution.h.
#pragma once

#include <cstdint>
#include <vector>

#include "sort/async_io.h"
#include "sort/dealer.h"
#include "sort/input_files.h"
#include "sort/input_plan.h"
#include "sort/progress.h"
#include "sort/read_stage_times.h"
#include "sort/two_sided_groups.h"
#include "sort/two_sided_receiver.h"

namespace spillway::sort {

class TwoSidedDistribution {
 public:
  // Collective. All stay. `slots` buffers of each process.
  TwoSidedDistribution(const InputPlan& plan, InputFiles& files, Dealer& dealer, const TwoSidedGroups& groups,
                       AsyncIo& io, Progress& progress, uint64_t slots, uint64_t slot_bytes,
                       TwoSidedReceiver::Receives receives);
  // Collective.
  ~TwoSidedDistribution();
  TwoSidedDistribution(const TwoSidedDistribution&) = delete;
  TwoSidedDistribution& operator=(const TwoSidedDistribution&) = delete;

  // Returns when this process's part is done: all that it has read is delivered, or all that has come is in the stores.
  void run();

  const ReadStageTimes& times() const { return times_; }

 private:
  std::vector<char*> slots_of(int process) const;
  std::vector<char*> slots_of_node() const;

  const InputPlan& plan_;
  InputFiles& files_;
  Dealer& dealer_;
  const TwoSidedGroups& groups_;
  AsyncIo& io_;
  Progress& progress_;
  const uint64_t slots_;
  const uint64_t slot_bytes_;
  const TwoSidedReceiver::Receives receives_;
  char* memory_;
  ReadStageTimes times_;
};

}  // namespace spillway::sort
