#include "launch/deadlock_watch.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "launch/process_times.h"

namespace spillway::launch {
namespace {

using node::RankRecord;
using node::RankState;

constexpr unsigned kLooksNeeded = 4;  // intervals of DeadlockWatch::kIntervalNs: one second
// Of a rank in an interval: 8% of a core. Sleeping ranks take part in what the MPI library has open.
constexpr uint64_t kIdleTicks = 2;

// With all of its threads that have called MPI.
bool is_blocked(const RankRecord& record) {
  const auto state = static_cast<RankState>(record.state.load());
  const bool waits = state == RankState::blocked_receive || state == RankState::blocked_collective;
  return waits && record.library_calls == 0 && record.away_threads > record.other_threads;
}

// News that the rank has been, or is just being, woken for.
bool has_news(const RankRecord& record) {
  const uint64_t wake_at = record.wake_at;
  return record.granted != 0 || (wake_at != 0 && record.arrivals >= wake_at);
}

bool takes_part(const RankRecord& record) {
  const auto state = static_cast<RankState>(record.state.load());
  return state != RankState::absent && state != RankState::finished;
}

std::string waits_for_text(const RankRecord& record) {
  const std::string text(record.waits_for, strnlen(record.waits_for, sizeof record.waits_for));
  return text.empty() ? "an operation that it did not name" : text;
}

}  // namespace

bool DeadlockWatch::is_anyone_able_to_go_on() const {
  const node::SegmentHeader& header = segment_.header();
  for (uint32_t i = 0; i < header.rank_count; ++i) {
    const RankRecord& record = segment_.rank(i);
    if (static_cast<RankState>(record.state.load()) == RankState::absent) return true;  // has yet to attach
    if (takes_part(record) && (!is_blocked(record) || has_news(record))) return true;
  }
  return false;
}

uint64_t DeadlockWatch::fingerprint(uint64_t outside) const {
  constexpr uint64_t kPrime = 1099511628211u;  // FNV-1a over the counters that move whenever a rank does
  uint64_t hash = (14695981039346656037u ^ outside) * kPrime;
  for (uint32_t i = 0; i < segment_.header().rank_count; ++i) {
    const RankRecord& record = segment_.rank(i);
    for (uint64_t value : {uint64_t{record.doorbell}, record.arrivals.load(), record.statistics.yields.load(),
                           uint64_t{record.state}, record.blocked_since_ns.load()})
      hash = (hash ^ value) * kPrime;
  }
  return hash;
}

// Since it was asked last.
bool DeadlockWatch::has_anyone_computed() {
  bool has_any = false;
  for (uint32_t i = 0; i < segment_.header().rank_count; ++i) {
    if (!takes_part(segment_.rank(i))) continue;
    const uint64_t now = times_of(segment_.rank(i).pid).cpu_ticks;
    has_any = now > std::exchange(last_cpu_ticks_[i], now) + kIdleTicks || has_any;
  }
  return has_any;
}

bool DeadlockWatch::is_still(uint64_t now_ns, uint64_t outside) {
  if (now_ns - last_look_ns_ < kIntervalNs) return is_still_;
  last_look_ns_ = now_ns;
  const bool is_same = is_unchanged(outside) && !has_anyone_computed();
  last_fingerprint_ = fingerprint(outside);
  unchanged_looks_ = is_same ? unchanged_looks_ + 1 : 0;
  is_still_ = unchanged_looks_ >= kLooksNeeded;
  return is_still_;
}

bool DeadlockWatch::is_unchanged(uint64_t outside) const {
  return fingerprint(outside) == last_fingerprint_ && !is_anyone_able_to_go_on();
}

uint32_t DeadlockWatch::waiting_ranks() const {
  uint32_t count = 0;
  for (uint32_t i = 0; i < segment_.header().rank_count; ++i)
    if (takes_part(segment_.rank(i))) ++count;
  return count;
}

std::string DeadlockWatch::who_waits() const {
  std::string lines;
  uint32_t named = 0;
  for (uint32_t i = 0; i < segment_.header().rank_count && named < kMostRanksNamed; ++i) {
    const RankRecord& record = segment_.rank(i);
    if (!takes_part(record)) continue;
    ++named;
    lines += "  rank " + std::to_string(record.world_rank) + " waits for " + waits_for_text(record) + "\n";
  }
  return lines;
}

std::string first_waiting(const std::string& lines, uint64_t count) {
  size_t end = 0;
  uint64_t named = 0;
  for (; named < std::min<uint64_t>(count, DeadlockWatch::kMostRanksNamed); ++named) {
    const size_t next = lines.find('\n', end);
    if (next == std::string::npos) break;
    end = next + 1;
  }
  std::string text = lines.substr(0, end);
  if (count > named) text += "  and " + std::to_string(count - named) + " more ranks\n";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace spillway::launch
