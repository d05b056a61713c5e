// Lends slots for ranks that sleep with theirs.
//
// The problem: a program may wait for another of its ranks by means that are not MPI's (a connection, a file, a child
// process). The rank that waits holds its slot, and when the one that it waits for has none, neither goes on.
//
// The policy: twenty times a second, and only while a rank is ready or waits for room, the ranks that hold slots are
// looked at. One is idle that has made no call of MPI that waits, has used next to no processor time and was asleep at
// both looks. Its slot goes to a ready rank (node/slots.h, lend_slot_of), and whoever waits for room does not wait
// for it. A rank that waits for the disk or is stopped does not count as asleep.
//
// What it costs: when the sleeper goes on to compute, one more rank than there are slots runs until it waits in MPI.
#pragma once

#include <cstdint>
#include <vector>

#include "node/segment.h"

namespace spillway::launch {

class SlotLender {
 public:
  explicit SlotLender(node::Segment& segment) : segment_(segment), last_seen_(segment.header().rank_count) {}

  static constexpr uint64_t kIntervalNs = 50000000;

  // Call at least once in each interval.
  void look(uint64_t now_ns);

 private:
  struct Look {
    bool is_asleep = false;
    uint64_t yields = 0;
    uint64_t cpu_ticks = 0;
  };

  bool is_anyone_waiting() const;
  bool is_idle(uint32_t index);

  node::Segment& segment_;
  std::vector<Look> last_seen_;
  uint64_t last_look_ns_ = 0;
};

}  // namespace spillway::launch
