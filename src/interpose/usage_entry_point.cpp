// The C interface of include/spillway/spillway.h.
#include <spillway/spillway.h>

#include "mpi/runtime.h"

extern "C" __attribute__((visibility("default"))) const char* spillway_spill_directories_of_rank() {
  const spillway::mpi::Runtime* runtime = spillway::mpi::runtime();
  return runtime == nullptr ? nullptr : runtime->spill_directories();
}

extern "C" __attribute__((visibility("default"))) int spillway_usage_of_rank(spillway_usage* usage) {
  const spillway::mpi::Runtime* runtime = spillway::mpi::runtime();
  if (runtime == nullptr || usage->struct_bytes != sizeof *usage) return -1;
  const spillway::node::SegmentHeader& node = runtime->self.header();
  const spillway::node::RankRecord& rank = runtime->self.record();
  usage->slots = node.slot_count;
  usage->budget_bytes = node.budget_bytes;
  usage->node_resident_bytes = node.resident_bytes;
  usage->managed_bytes = rank.managed_bytes;
  usage->resident_bytes = rank.resident_bytes;
  usage->loaded_bytes = rank.statistics.loaded_bytes;
  usage->unloaded_bytes = rank.statistics.unloaded_bytes;
  usage->spilled_bytes = rank.statistics.spilled_bytes;
  usage->wait_ns = rank.statistics.wait_ns;
  return 0;
}
