// Times of the iterations, printed the same way by every program so that benchmarks can compare them.
#pragma once

#include <chrono>
#include <vector>

namespace apps {

class IterationTimes {
 public:
  // Ends an iteration, which began when the one before ended (the first: at construction), and prints its time.
  void print_next();
  // The next iteration begins now: what was done since the last one belongs to none.
  void restart() { last_end_ = std::chrono::steady_clock::now(); }
  // "seconds per iteration: mean ..., median ..., least ...", unless there was no iteration.
  void print_mean() const;
  [[nodiscard]] double total_seconds() const;

 private:
  std::chrono::steady_clock::time_point last_end_ = std::chrono::steady_clock::now();
  std::vector<double> seconds_;
};

}  // namespace apps
