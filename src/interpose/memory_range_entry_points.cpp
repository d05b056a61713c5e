// spillway_allocate, spillway_load, spillway_unload and spillway_discard of include/spillway/spillway.h.
#include <spillway/spillway.h>

#include "interpose/entry.h"

using namespace spillway::interpose;
using spillway::memory::RangeResult;
using spillway::memory::UnloadResult;

namespace {

RangeResult unload(Runtime& runtime, const void* address, size_t bytes) {
  UnloadResult result;
  const RangeResult code = runtime.arena.unload_range(address, bytes, result);
  auto& statistics = runtime.self.record().statistics;
  statistics.unloaded_bytes.fetch_add(result.written_bytes);
  statistics.loaded_bytes.fetch_add(result.loaded_bytes);
  return code;
}

RangeResult carry_out(Runtime& runtime, spillway_range_operation operation, void* address, size_t bytes) {
  if (operation == SPILLWAY_RANGE_LOAD) return runtime.arena.load_range(address, bytes);
  if (operation == SPILLWAY_RANGE_UNLOAD) return unload(runtime, address, bytes);
  return runtime.arena.discard_range(address, bytes);
}

}  // namespace

SPILLWAY_ENTRY int spillway_range_of_rank(spillway_range_operation operation, void* address, size_t bytes) {
  Runtime* runtime = spillway::mpi::runtime();
  if (runtime == nullptr) return SPILLWAY_NOT_RUNNING;
  if (operation != SPILLWAY_RANGE_LOAD &&
      (runtime->self.record().pins != 0 || runtime->self.record().library_calls != 0))
    return SPILLWAY_IN_USE;
  const RangeResult result = carry_out(*runtime, operation, address, bytes);
  if (result == RangeResult::pinned) return SPILLWAY_IN_USE;
  return result == RangeResult::done ? SPILLWAY_SUCCESS : SPILLWAY_NOT_MANAGED;
}

SPILLWAY_ENTRY void* spillway_allocate_of_rank(size_t bytes) {
  return spillway::mpi::runtime() != nullptr ? arena().allocate(bytes, 1) : nullptr;
}
