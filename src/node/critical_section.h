// The node's critical section (BDMPI 5.6): a part of the program that one rank of the node is in at a time, such as
// reading its input from the disk.
//
// A rank that finds it taken gives its slot up and sleeps, as in a receive: it may be unloaded, and others run. Ranks
// enter in the order in which they came: whoever leaves hands the section to the one that has waited longest, so
// nobody who comes later gets in between.
#pragma once

#include "node/scheduler.h"

namespace spillway::node {

enum class CriticalResult { done, already_inside, not_inside };

class CriticalSection {
 public:
  CriticalSection(LocalRank& self, Scheduler& scheduler) : self_(self), scheduler_(scheduler) {}

  // Asleep until the rank is in; calls before_sleep() if it has to wait. REQUIRES: the rank holds a slot. ENSURES: it
  // holds one again.
  template <typename BeforeSleep>
  [[nodiscard]] CriticalResult enter(BeforeSleep before_sleep) {
    if (is_inside()) return CriticalResult::already_inside;
    if (enter_or_get_in_line()) return CriticalResult::done;
    before_sleep();
    wait_for_turn();
    return CriticalResult::done;
  }
  [[nodiscard]] CriticalResult exit();

  bool is_inside() const { return self_.header().critical_rank == self_.index(); }

 private:
  bool enter_or_get_in_line();
  void wait_for_turn();

  LocalRank& self_;
  Scheduler& scheduler_;
};

// The rank neither waits for the section any more nor is in it. REQUIRES: the node's lock is held.
void abandon_critical_section(Segment& segment, uint32_t index);

}  // namespace spillway::node
