// What include/spillway/spillway.h offers for ranges of memory.
#include <spillway/spillway.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "interpose/entry.h"

using namespace spillway::interpose;
using spillway::memory::Advice;
using spillway::memory::AllocationReport;
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

int code_of(RangeResult result) {
  if (result == RangeResult::pinned) return SPILLWAY_IN_USE;
  return result == RangeResult::done ? SPILLWAY_SUCCESS : SPILLWAY_NOT_MANAGED;
}

// Others of the node need some of the budget to get on.
bool leaves_room(Runtime& runtime) {
  uint64_t pinned_bytes = 0;
  for (uint32_t i = 0; i < runtime.self.rank_count(); ++i) pinned_bytes += runtime.self.peer(i).pinned_bytes;
  return pinned_bytes <= runtime.self.header().budget_bytes / 4 * 3;
}

int unpin(Runtime& runtime, const void* address, size_t bytes) {
  if (UnmanagedScope::is_inside()) return SPILLWAY_IN_USE;  // an operation of the program's, within a reduction
  const spillway::mpi::CallLock lock;
  const UnmanagedScope scope;
  if (!runtime.pinned.unpin(address, bytes)) return SPILLWAY_NOT_MANAGED;
  runtime.update_pinned_bytes();
  return SPILLWAY_SUCCESS;
}

// What is published at once, others see when they pin.
bool pin_within_budget(Runtime& runtime, const void* address, size_t bytes) {
  const spillway::mpi::CallLock lock;
  const UnmanagedScope scope;
  runtime.pinned.pin(address, bytes);
  runtime.update_pinned_bytes();
  if (leaves_room(runtime)) return true;
  runtime.pinned.unpin(address, bytes);
  runtime.update_pinned_bytes();
  return false;
}

int pin(Runtime& runtime, const void* address, size_t bytes) {
  if (UnmanagedScope::is_inside()) return SPILLWAY_IN_USE;
  if (!pin_within_budget(runtime, address, bytes)) return SPILLWAY_NO_ROOM;
  const RangeResult loaded = runtime.arena.load_range(address, bytes);
  if (loaded != RangeResult::done) unpin(runtime, address, bytes);
  return code_of(loaded);
}

std::optional<Advice> advice_in(spillway_range_operation operation) {
  switch (operation) {
    case SPILLWAY_RANGE_EXPECT_NORMAL:
      return Advice::normal;
    case SPILLWAY_RANGE_EXPECT_RANDOM:
      return Advice::random;
    case SPILLWAY_RANGE_EXPECT_REWRITE:
      return Advice::rewritten;
    case SPILLWAY_RANGE_EXPECT_NOTHING:
      return Advice::cold;
    default:
      return std::nullopt;
  }
}

}  // namespace

SPILLWAY_ENTRY int spillway_range_of_rank(spillway_range_operation operation, void* address, size_t bytes) {
  Runtime* runtime = spillway::mpi::runtime();
  if (runtime == nullptr) return SPILLWAY_NOT_RUNNING;
  if (operation == SPILLWAY_RANGE_LOAD) return code_of(runtime->arena.load_range(address, bytes));
  if (operation == SPILLWAY_RANGE_PIN) return pin(*runtime, address, bytes);
  if (operation == SPILLWAY_RANGE_UNPIN) return unpin(*runtime, address, bytes);
  if (const auto advice = advice_in(operation)) return code_of(runtime->arena.advise_range(address, bytes, *advice));
  if (runtime->self.record().pins != 0 || runtime->self.record().library_calls != 0) return SPILLWAY_IN_USE;
  if (operation == SPILLWAY_RANGE_UNLOAD) return code_of(unload(*runtime, address, bytes));
  if (operation == SPILLWAY_RANGE_DISCARD) return code_of(runtime->arena.discard_range(address, bytes));
  return SPILLWAY_NOT_RUNNING;  // a later version of the header has it
}

SPILLWAY_ENTRY long spillway_allocations_of_rank(spillway_allocation* list, size_t item_bytes, size_t capacity) {
  Runtime* runtime = spillway::mpi::runtime();
  if (runtime == nullptr || item_bytes != sizeof *list) return SPILLWAY_NOT_RUNNING;
  const UnmanagedScope scope;
  std::vector<AllocationReport> reports(std::min<size_t>(capacity, spillway::memory::Arena::kMostReports));
  const size_t found = runtime->arena.report(reports.data(), reports.size());
  for (size_t i = 0; i < std::min(found, reports.size()); ++i)
    list[i] = spillway_allocation{reinterpret_cast<void*>(reports[i].begin), reports[i].bytes,
                                  reports[i].resident_bytes, reports[i].loaded_bytes, reports[i].written_bytes};
  return static_cast<long>(found);
}

SPILLWAY_ENTRY void* spillway_allocate_of_rank(size_t bytes) {
  if (spillway::mpi::runtime() == nullptr) return nullptr;
  const UnmanagedScope scope;  // who waits for room takes messages meanwhile
  return arena().allocate(bytes, 1);
}
