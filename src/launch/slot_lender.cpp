#include "launch/slot_lender.h"

#include "launch/process_times.h"
#include "node/scheduler.h"
#include "node/slots.h"

namespace spillway::launch {
namespace {

using node::RankRecord;
using node::RankState;

constexpr uint64_t kIdleTicks = 1;  // a tick is a hundredth of a second: a fifth of the interval

RankState state_of(const RankRecord& record) { return static_cast<RankState>(record.state.load()); }

}  // namespace

bool SlotLender::is_anyone_waiting() const {
  if (segment_.header().loading_ranks != 0) return true;
  for (uint32_t i = 0; i < segment_.header().rank_count; ++i)
    if (state_of(segment_.rank(i)) == RankState::ready) return true;
  return false;
}

void SlotLender::look(uint64_t now_ns) {
  if (now_ns - last_look_ns_ < kIntervalNs) return;
  last_look_ns_ = now_ns;
  if (!is_anyone_waiting()) return;
  for (uint32_t i = 0; i < segment_.header().rank_count; ++i) {
    const bool sleeps = is_idle(i);
    node::set_sleeps_outside(segment_, i, sleeps);
    if (sleeps) node::lend_slot_of(segment_, i);
  }
}

bool SlotLender::is_idle(uint32_t index) {
  const RankRecord& record = segment_.rank(index);
  Look& last = last_seen_[index];
  if (state_of(record) != RankState::running) {
    last = Look{};
    return false;
  }
  const ProcessTimes times = times_of(record.pid);
  Look now;
  now.is_asleep = times.state == 'S';
  now.yields = record.statistics.yields;
  now.cpu_ticks = times.cpu_ticks;
  const bool is_idle =
      now.is_asleep && last.is_asleep && now.yields == last.yields && now.cpu_ticks - last.cpu_ticks <= kIdleTicks;
  last = now;
  return is_idle;
}

}  // namespace spillway::launch
