// Finds that no rank can ever go on again (`--detect-deadlock`).
//
// The job is in a deadlock when every rank that has attached and not finished is blocked on a message or in a
// collective, with all of its threads that have called MPI, none of them has news it was not woken for, and nothing of
// this changes for a second in which none of them computes: a thread that has not called MPI yet may be about to send
// what others wait for. Looks four times a second.
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

  // Call at least once in each interval. True when the ranks have been stuck, unchanged, for a second.
  bool looks_deadlocked(uint64_t now_ns);

  // One line per stuck rank, each indented and ended except the last.
  std::string who_waits() const;

 private:
  bool is_anyone_able_to_go_on() const;
  uint64_t fingerprint() const;
  bool has_anyone_computed();

  const node::Segment& segment_;
  uint64_t last_look_ns_ = 0;
  uint64_t last_fingerprint_ = 0;
  std::vector<uint64_t> last_cpu_ticks_;  // of each rank
  unsigned unchanged_looks_ = 0;
};

}  // namespace spillway::launch
