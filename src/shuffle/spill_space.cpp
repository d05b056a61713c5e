#include "shuffle/spill_space.h"

#include <iterator>

namespace spillway::shuffle {

SpillSpace::SpillSpace(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) places_.emplace_back(directory);
}

SpillSpace::~SpillSpace() {
  for (Place& place : places_) place.file.close();
}

uint64_t SpillSpace::size() {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  for (const Place& place : places_) bytes += place.size;
  return bytes;
}

uint64_t SpillSpace::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes = rounded_to_blocks(bytes);
  const uint64_t number = next_place_++ % places_.size();
  Place& place = places_[number];
  if (!place.file.is_open()) place.file.create(place.directory.c_str());
  for (auto range = place.free.begin(); range != place.free.end(); ++range) {
    const auto [offset, free_bytes] = *range;
    if (free_bytes < bytes) continue;
    place.free.erase(range);
    if (free_bytes > bytes) place.free.emplace(offset + bytes, free_bytes - bytes);
    return number << kFileBits | offset;
  }
  const uint64_t offset = place.size;
  place.file.reserve(offset, bytes);
  place.size += bytes;
  return number << kFileBits | offset;
}

void SpillSpace::release(uint64_t offset, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes = rounded_to_blocks(bytes);
  if (bytes == 0) return;
  std::map<uint64_t, uint64_t>& free = place_of(offset).free;
  auto range = free.emplace(offset & kWithinFile, bytes).first;
  if (const auto next = std::next(range); next != free.end() && next->first == range->first + range->second) {
    range->second += next->second;
    free.erase(next);
  }
  if (range == free.begin()) return;
  if (const auto before = std::prev(range); before->first + before->second == range->first) {
    before->second += range->second;
    free.erase(range);
  }
}

}  // namespace spillway::shuffle
