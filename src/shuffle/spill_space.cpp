#include "shuffle/spill_space.h"

#include <iterator>
#include <utility>

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
  const size_t turn = next_place_++;
  for (size_t i = 0; i < places_.size(); ++i)
    if (const auto offset = allocate_in((turn + i) % places_.size(), bytes)) return *offset;
  Place& place = places_[turn % places_.size()];
  // Both end the process, unless there is room by now.
  if (!place.file.is_open()) place.file.create(place.directory.c_str());
  place.file.reserve(place.size, bytes);
  const uint64_t offset = std::exchange(place.size, place.size + bytes);
  return uint64_t{turn % places_.size()} << kFileBits | offset;
}

// Nothing where there is no room.
std::optional<uint64_t> SpillSpace::allocate_in(size_t number, uint64_t bytes) {
  Place& place = places_[number];
  if (!place.file.is_open() && !place.file.try_create(place.directory.c_str())) return std::nullopt;
  const uint64_t of_place = uint64_t{number} << kFileBits;
  for (auto range = place.free.begin(); range != place.free.end(); ++range) {
    const auto [offset, free_bytes] = *range;
    if (free_bytes < bytes) continue;
    place.free.erase(range);
    if (free_bytes > bytes) place.free.emplace(offset + bytes, free_bytes - bytes);
    return of_place | offset;
  }
  if (!place.file.try_reserve(place.size, bytes)) return std::nullopt;
  return of_place | std::exchange(place.size, place.size + bytes);
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
