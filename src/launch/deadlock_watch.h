// Finds that no rank can ever go on again (`--detect-deadlock`).
//
// The ranks of a node are still when every one that has attached and not finished is blocked on a message or in a
// collective, with all of its threads that have called MPI, none of them has news it was not woken for, and nothing of
// this changes for a second in which none of them computes: a thread that has not called MPI yet may be about to send
// what others wait for. Looks four times a second. A job on one node whose ranks are still, and some wait, is in a
// deadlock; of several nodes, see launch/stillness_vote.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/segment.h"

namespace spillway::launch {

class DeadlockWatch {
 public:
  explicit DeadlockWatch(const node::Segment& segment)
      : segment_(segment), last_cpu_ticks_(segment.header().rank_count) {}

  static constexpr uint64_t kIntervalNs = 250000000;

  // Call at least once in each interval. True when the ranks have been still for a second. `outside` stands for what
  // else must not have changed meanwhile.
  bool is_still(uint64_t now_ns, uint64_t outside = 0);

  // Whether the last is_still() would say the same now.
  bool is_unchanged(uint64_t outside) const;

  // So many ranks have attached and not finished.
  uint32_t waiting_ranks() const;

  // A line for each of them, or of the first ones, indented and ended.
  std::string who_waits() const;

  static constexpr uint32_t kMostRanksNamed = 32;  // a message of thousands of lines helps nobody

 private:
  bool is_anyone_able_to_go_on() const;
  uint64_t fingerprint(uint64_t outside) const;
  bool has_anyone_computed();

  const node::Segment& segment_;
  uint64_t last_look_ns_ = 0;
  uint64_t last_fingerprint_ = 0;
  std::vector<uint64_t> last_cpu_ticks_;  // of each rank
  unsigned unchanged_looks_ = 0;
  bool is_still_ = false;
};

// Of the lines of who_waits(), of one node or several, with `count` ranks in all: those that a message names. The last
// one is not ended.
std::string first_waiting(const std::string& lines, uint64_t count);

}  // namespace spillway::launch
