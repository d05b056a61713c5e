#include "mpi/windows.h"

#include <algorithm>
#include <iterator>

namespace spillway::mpi {
namespace {

// A program may begin operations by the million before it completes them, each on a little of a large buffer.
constexpr uint64_t kBlockBytes = 4 << 20;

uint64_t address_of(const void* base) { return reinterpret_cast<uint64_t>(base); }
uint64_t end_of(uint64_t begin, uint64_t bytes) { return begin + std::min(bytes, ~begin); }

}  // namespace

bool Windows::Window::uses(uint64_t begin, uint64_t end) const {
  if (buffers.overlaps(begin, end)) return true;
  const auto at = memory.lower_bound(end);
  return at != memory.begin() && std::prev(at)->second > begin;
}

bool Windows::keeps_any() const {
  const std::lock_guard hold(mutex_);
  return !windows_.empty() || !lent_.empty();
}

bool Windows::has_any() const {
  const std::lock_guard hold(mutex_);
  return !windows_.empty();
}

bool Windows::is_in_use(uint64_t begin, uint64_t end) const {
  const std::lock_guard hold(mutex_);
  const auto is_lent = [=](const auto& entry) { return entry.second.begin < end && begin < entry.second.end; };
  return std::any_of(windows_.begin(), windows_.end(), [=](const Window& window) { return window.uses(begin, end); }) ||
         std::any_of(lent_.begin(), lent_.end(), is_lent);
}

Windows::Window* Windows::find(uint64_t handle) {
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() ? nullptr : found->second;
}

Windows::Window& Windows::window_of(uint64_t handle) {
  Window*& known = by_handle_[handle];
  if (known != nullptr) return *known;
  known = &windows_.emplace_back();
  known->handle = handle;
  known->number = ++last_number_;
  return *known;
}

void Windows::made(uint64_t window, const void* base, uint64_t bytes) { attached(window, base, bytes); }

void Windows::attached(uint64_t window, const void* base, uint64_t bytes) {
  const std::lock_guard hold(mutex_);
  Window& known = window_of(window);
  if (bytes == 0) return;
  known.memory.emplace(address_of(base), end_of(address_of(base), bytes));
  ++changes_;
}

void Windows::detached(uint64_t window, const void* base) {
  const std::lock_guard hold(mutex_);
  Window* known = find(window);
  if (known != nullptr && known->memory.erase(address_of(base)) != 0) ++changes_;
}

uint64_t Windows::leaves(uint64_t window) {
  const std::lock_guard hold(mutex_);
  const Window* known = find(window);
  if (known == nullptr) return 0;
  by_handle_.erase(window);
  return known->number;
}

void Windows::has_left(uint64_t number, bool is_freed) {
  const std::lock_guard hold(mutex_);
  const auto found =
      std::find_if(windows_.begin(), windows_.end(), [=](const Window& window) { return window.number == number; });
  if (found == windows_.end()) return;
  if (!is_freed) {
    by_handle_[found->handle] = &*found;
    return;
  }
  windows_.erase(found);
  ++changes_;
}

void Windows::begun(uint64_t window, int target, const void* address, uint64_t bytes) {
  const std::lock_guard hold(mutex_);
  Window& known = window_of(window);
  known.targets[target] = ++begun_;
  if (bytes == 0) return;
  const uint64_t begin = address_of(address) / kBlockBytes * kBlockBytes;
  const uint64_t last_block = (end_of(address_of(address), bytes) - 1) / kBlockBytes;
  if (known.buffers.add(begin, end_of(last_block * kBlockBytes, kBlockBytes))) ++changes_;
}

void Windows::have_completed(uint64_t window, std::optional<int> target, uint64_t number) {
  const std::lock_guard hold(mutex_);
  Window* known = find(window);
  if (known == nullptr) return;
  std::erase_if(known->targets, [&](const auto& entry) {
    return (!target.has_value() || entry.first == *target) && entry.second <= number;
  });
  if (!known->targets.empty() || known->buffers.is_empty()) return;
  known->buffers.clear();
  ++changes_;
}

uint64_t Windows::lent(const void* address, uint64_t bytes) {
  const std::lock_guard hold(mutex_);
  lent_.emplace(++last_number_, Lent{address_of(address), end_of(address_of(address), bytes)});
  ++changes_;
  return last_number_;
}

void Windows::taken_back(uint64_t number) {
  const std::lock_guard hold(mutex_);
  lent_.erase(number);
  ++changes_;
}

}  // namespace spillway::mpi
