// A sorter of two-sided delivery: deals out what its node's receiver has received, in memory that both have.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sort/async_io.h"
#include "sort/dealer.h"
#include "sort/input_plan.h"
#include "sort/two_sided_groups.h"
#include "sort/two_sided_messages.h"

namespace spillway::sort {

class TwoSidedSorter {
 public:
  // All but `slots` stay; those are the receiver's.
  TwoSidedSorter(const InputPlan& plan, const TwoSidedGroups& groups, std::vector<char*> slots, Dealer& dealer,
                 AsyncIo& io)
      : plan_(plan), groups_(groups), slots_(std::move(slots)), dealer_(dealer), io_(io) {}

  // Returns when the receiver has nothing more.
  void run();

  // Without a block to deal out.
  uint64_t waited_ns() const { return waited_ns_; }

 private:
  two_sided::Full next();

  const InputPlan& plan_;
  const TwoSidedGroups& groups_;
  const std::vector<char*> slots_;
  Dealer& dealer_;
  AsyncIo& io_;
  uint64_t waited_ns_ = 0;
};

}  // namespace spillway::sort
