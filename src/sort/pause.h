// How who has nothing to do waits for what MPI brings, which libraries move while both sides call them: it looks again
// at once, for some time, and then less often, as others may want the processor.
#pragma once

#include <sched.h>
#include <unistd.h>

namespace spillway::sort {

class Pause {
 public:
  static constexpr unsigned kLongUs = 50;

  // Something has moved.
  void reset() { count_ = 0; }
  bool is_short() const { return count_ < kShortOnes; }
  void take() {
    if (!is_short()) {
      usleep(kLongUs);
      return;
    }
    ++count_;
    sched_yield();
  }

 private:
  static constexpr int kShortOnes = 100;

  int count_ = 0;
};

}  // namespace spillway::sort
