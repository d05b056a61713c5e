#include "mpi/turn_to_combine.h"

#include <cstdio>

namespace spillway::mpi {
namespace {

Runtime& wait_for_other_threads(Runtime& runtime) {
  runtime.block_until(
      node::RankState::blocked_collective, [&] { return !runtime.has_combining_turn; }, [] { return uint64_t{1}; },
      [](char* text, size_t size) { snprintf(text, size, "a nonblocking reduction that another thread begins"); });
  return runtime;
}

}  // namespace

TurnToCombine::TurnToCombine(Runtime& runtime, uint64_t context, int32_t tag)
    : runtime_(wait_for_other_threads(runtime)), turn_(runtime_.self, context, tag) {
  runtime_.has_combining_turn = true;
}

TurnToCombine::~TurnToCombine() {
  runtime_.has_combining_turn = false;
  if (runtime_.scheduler.sleeping_threads() != 0) node::LocalRank::ring(runtime_.self.record());
}

}  // namespace spillway::mpi
