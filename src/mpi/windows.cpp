#include "mpi/windows.h"

#include <mpi.h>

#include "mpi/runtime.h"

namespace spillway::mpi {
namespace {

constexpr uint64_t kBlockBytes = 4 << 20;

const void* block_at(uint64_t number) { return reinterpret_cast<const void*>(number * kBlockBytes); }

}  // namespace

void Windows::pin(const void* base, uint64_t bytes) {
  runtime_.self.record().pinned_bytes = runtime_.arena.pin(base, bytes);
}

void Windows::unpin(const void* base, uint64_t bytes) {
  runtime_.self.record().pinned_bytes = runtime_.arena.unpin(base, bytes);
}

void Windows::keep(Window& window, const void* base, uint64_t bytes) {
  if (bytes != 0 && window.memory.emplace(base, bytes).second) pin(base, bytes);
}

void Windows::made(uint64_t window, const void* base, uint64_t bytes) {
  Window& made = windows_[window];
  keep(made, base, bytes);
}

void Windows::freed(uint64_t window) {
  const auto found = windows_.find(window);
  if (found == windows_.end()) return;
  completed_all(window);
  for (const auto& [base, bytes] : found->second.memory) unpin(base, bytes);
  windows_.erase(found);
}

void Windows::attached(uint64_t window, const void* base, uint64_t bytes) { keep(windows_[window], base, bytes); }

void Windows::detached(uint64_t window, const void* base) {
  Window& known = windows_[window];
  const auto found = known.memory.find(base);
  if (found == known.memory.end()) return;
  unpin(base, found->second);
  known.memory.erase(found);
}

// A program may begin operations by the million before it completes them, of which many use the same block.
void Windows::begun(uint64_t window, int target, const void* address, uint64_t bytes) {
  if (target == MPI_PROC_NULL) return;
  Window& known = windows_[window];
  known.targets.insert(target);
  const auto begin = reinterpret_cast<uint64_t>(address);
  for (uint64_t block = begin / kBlockBytes; bytes != 0 && block <= (begin + bytes - 1) / kBlockBytes; ++block)
    if (known.blocks.insert(block).second) pin(block_at(block), kBlockBytes);
}

void Windows::release_blocks(Window& window) {
  for (const uint64_t block : window.blocks) unpin(block_at(block), kBlockBytes);
  window.blocks.clear();
}

void Windows::completed(uint64_t window, int target) {
  const auto found = windows_.find(window);
  if (found == windows_.end()) return;
  if (found->second.targets.erase(target) != 0 && found->second.targets.empty()) release_blocks(found->second);
}

void Windows::completed_all(uint64_t window) {
  const auto found = windows_.find(window);
  if (found == windows_.end()) return;
  found->second.targets.clear();
  release_blocks(found->second);
}

}  // namespace spillway::mpi
