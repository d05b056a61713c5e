// A partition function that keeps the order: what one A task gets comes before what the next one gets. Needs no MPI.
#ifndef SPILLWAY_KEY_RANGES_HPP
#define SPILLWAY_KEY_RANGES_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spillway::mpid {

class KeyRanges {
 public:
  // A sorted sample of the keys, or of their beginnings, the same in all processes.
  explicit KeyRanges(std::vector<std::string> sample) : sample_(std::move(sample)) {}

  // From 0 to tasks - 1, so that each gets about as much of the sample.
  [[nodiscard]] int task_of(std::string_view key, int tasks) const {
    int first = 0;
    for (int last = tasks - 1; first < last;) {
      const int middle = last - (last - first) / 2;
      if (is_before(key, middle, tasks)) {
        last = middle - 1;
      } else {
        first = middle;
      }
    }
    return first;
  }

 private:
  // Of a task from 1 on: the sample's key that its range begins with is the first of a share of all.
  [[nodiscard]] bool is_before(std::string_view key, int task, int tasks) const {
    const size_t place = sample_.size() * static_cast<size_t>(task) / static_cast<size_t>(tasks);
    return place == sample_.size() || key < sample_[place];
  }

  const std::vector<std::string> sample_;
};

}  // namespace spillway::mpid

#endif
