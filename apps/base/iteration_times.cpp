#include "iteration_times.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace apps {

void IterationTimes::print_next() {
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::duration<double> elapsed = now - std::exchange(last_end_, now);
  seconds_.push_back(elapsed.count());
  std::printf("iteration %zu: %.4f s\n", seconds_.size(), elapsed.count());
  std::fflush(stdout);
}

void IterationTimes::print_mean() const {
  if (seconds_.empty()) {
    return;
  }
  std::vector<double> sorted = seconds_;
  std::sort(sorted.begin(), sorted.end());
  const double median = (sorted[sorted.size() / 2] + sorted[(sorted.size() - 1) / 2]) / 2;
  std::printf("seconds per iteration: mean %.4f, median %.4f, least %.4f\n",
              total_seconds() / static_cast<double>(sorted.size()), median, sorted.front());
}

double IterationTimes::total_seconds() const { return std::accumulate(seconds_.begin(), seconds_.end(), 0.0); }

}  // namespace apps
