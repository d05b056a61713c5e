// Ranks as the processes that they are in a job: children of the test that share one segment.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <map>

#include "node/segment.h"

namespace spillway::node {

class ForkedRanks {
 public:
  explicit ForkedRanks(const SegmentConfig& config) : segment_(Segment::create(config)) {}
  ~ForkedRanks();  // kills what still runs
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  Segment& segment() { return segment_; }

  // Runs body(segment) in a child. In there, SPILLWAY_CHECK is the assertion: it prints and ends the child with
  // status 1.
  void start(uint32_t index, const std::function<void(Segment)>& body);

  pid_t pid(uint32_t index) const { return pids_.at(index); }

  // Waits for all children. Fails if one ends with another status than 0, or still runs after `limit_s`: then it says
  // what state each rank is in.
  testing::AssertionResult join(int limit_s);

  // Waits for one child, however it ends.
  void reap(uint32_t index);

 private:
  Segment segment_;
  std::map<uint32_t, pid_t> pids_;
};

// Another mapping of the same segment, as a rank of its own has it.
Segment mapped_again(const Segment& segment);

// What the states, tickets and bytes of all ranks are, one rank in a line.
std::string describe(const Segment& segment);

// What must hold whenever nobody holds the lock: sums over ranks, slots in use, no free slot while a rank is ready.
// Empty, or what does not hold.
std::string broken_invariant(const Segment& segment);

}  // namespace spillway::node
