// Ranges of memory that the program has asked to keep in memory. Used by one thread at a time, the one that holds the
// CallLock. REQUIRES an UnmanagedScope of who changes it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "mpi/windows.h"

namespace spillway::mpi {

class PinnedRanges {
 public:
  explicit PinnedRanges(Windows& windows) : windows_(windows) {}
  PinnedRanges(const PinnedRanges&) = delete;
  PinnedRanges& operator=(const PinnedRanges&) = delete;

  void pin(const void* address, uint64_t bytes) {
    numbers_.emplace(std::pair{address, bytes}, windows_.lent(address, bytes));
  }

  // Undoes it once. False when there is no such pin.
  bool unpin(const void* address, uint64_t bytes) {
    const auto found = numbers_.find(std::pair{address, bytes});
    if (found == numbers_.end()) return false;
    windows_.taken_back(found->second);
    numbers_.erase(found);
    return true;
  }

 private:
  Windows& windows_;
  std::multimap<std::pair<const void*, uint64_t>, uint64_t> numbers_;  // of what is lent, by range
};

}  // namespace spillway::mpi
