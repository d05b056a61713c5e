// spillway_enter_critical and spillway_exit_critical of include/spillway/spillway.h.
#include <spillway/spillway.h>

#include <cstdio>

#include "interpose/entry.h"

using namespace spillway::interpose;
using spillway::node::CriticalResult;

namespace {

CriticalResult enter(Runtime& runtime) {
  return runtime.critical_section.enter([&] {
    auto& record = runtime.self.record();
    snprintf(record.waits_for, sizeof record.waits_for, "the critical section, which another rank is in");
    runtime.prepare_to_sleep();
  });
}

}  // namespace

SPILLWAY_ENTRY int spillway_critical_section_of_rank(int enters) {
  Runtime* runtime = runtime_for_call();
  if (runtime == nullptr) return SPILLWAY_NOT_RUNNING;
  const spillway::mpi::CallLock lock;
  UnmanagedScope scope;
  const CriticalResult result = enters != 0 ? enter(*runtime) : runtime->critical_section.exit();
  return result == CriticalResult::done ? SPILLWAY_SUCCESS : SPILLWAY_NOT_ALLOWED;
}
