// How long something has been waited for, in time in which it could have come: counted by looks at the clock, so that
// neither a machine that stood still nor a job that was stopped (^Z) counts as more than one look.
#pragma once

#include <algorithm>
#include <cstdint>

namespace spillway::launch {

class Patience {
 public:
  // Whoever waits looks once in each interval.
  Patience(uint64_t interval_ns, uint64_t now_ns) : interval_ns_(interval_ns), last_look_ns_(now_ns) {}

  void look(uint64_t now_ns) {
    if (!is_paused_) waited_ns_ += std::min(now_ns - last_look_ns_, 2 * interval_ns_);
    last_look_ns_ = now_ns;
  }
  uint64_t waited_ns() const { return waited_ns_; }

  // Something has come.
  void start_anew(uint64_t now_ns) {
    waited_ns_ = 0;
    last_look_ns_ = now_ns;
  }

  // What passes in between does not count.
  void pause() { is_paused_ = true; }
  void go_on(uint64_t now_ns) {
    is_paused_ = false;
    last_look_ns_ = now_ns;
  }

 private:
  uint64_t interval_ns_;
  uint64_t last_look_ns_;
  uint64_t waited_ns_ = 0;
  bool is_paused_ = false;
};

}  // namespace spillway::launch
