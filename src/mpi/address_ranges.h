// A set of addresses, as ranges that do not touch each other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>

namespace spillway::mpi {

class AddressRanges {
 public:
  // True when some of it is new.
  bool add(uint64_t begin, uint64_t end) {
    if (begin >= end) return false;
    auto at = first_that_ends_after(begin - (begin != 0));
    if (at != ranges_.end() && at->first <= begin && at->second >= end) return false;
    while (at != ranges_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = ranges_.erase(at);
    }
    ranges_.emplace(begin, end);
    return true;
  }

  void add(const AddressRanges& other) {
    for (const auto& [begin, end] : other.ranges_) add(begin, end);
  }

  bool overlaps(uint64_t begin, uint64_t end) const {
    const auto at = ranges_.lower_bound(end);
    return at != ranges_.begin() && std::prev(at)->second > begin;
  }

  bool is_empty() const { return ranges_.empty(); }
  void clear() { ranges_.clear(); }

 private:
  using Ranges = std::map<uint64_t, uint64_t>;  // end by begin

  Ranges::iterator first_that_ends_after(uint64_t address) {
    auto at = ranges_.upper_bound(address);
    if (at != ranges_.begin() && std::prev(at)->second > address) --at;
    return at;
  }

  Ranges ranges_;
};

}  // namespace spillway::mpi
