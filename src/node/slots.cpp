#include "node/slots.h"

#include "node/local_rank.h"

namespace spillway::node {
namespace {

RankState state_of(const RankRecord& rank) { return static_cast<RankState>(rank.state.load()); }

// Above those that are resident are those whose memory cannot be unloaded until they have gone on; above these, those
// that have waited for long.
double priority_of(const RankRecord& rank, uint32_t rank_count) {
  if (rank.pins != 0 && rank.passed_over <= rank_count) return 1.5;
  const uint64_t managed = rank.managed_bytes;
  const double resident = managed == 0 ? 1.0 : static_cast<double>(rank.resident_bytes) / static_cast<double>(managed);
  return rank.passed_over > rank_count ? 2.0 + rank.passed_over : resident;
}

uint32_t index_of(Segment& segment, const RankRecord& rank) { return static_cast<uint32_t>(&rank - &segment.rank(0)); }

void grant(Segment& segment, RankRecord& rank, const RankRecord* caller) {
  SegmentHeader& header = segment.header();
  for (uint32_t i = 0; i < header.rank_count; ++i)
    if (state_of(segment.rank(i)) == RankState::ready) ++segment.rank(i).passed_over;
  --header.free_slots;
  rank.passed_over = 0;
  rank.state = static_cast<uint32_t>(RankState::running);
  rank.granted = 1;
  rank.may_come_ahead = 0;
  if (header.next_rank == index_of(segment, rank)) header.next_rank = kNoIndex;
  if (&rank != caller) LocalRank::ring(rank);
}

void lend(Segment& segment, RankRecord& from, RankRecord& to) {
  from.has_lent = 1;
  ++segment.header().free_slots;
  grant(segment, to, nullptr);
}

}  // namespace

RankRecord* best_ready_rank(Segment& segment, bool must_be_resident) {
  RankRecord* best = nullptr;
  const uint32_t count = segment.header().rank_count;
  for (uint32_t i = 0; i < count; ++i) {
    RankRecord& rank = segment.rank(i);
    if (state_of(rank) != RankState::ready) continue;
    if (must_be_resident && rank.resident_bytes < rank.managed_bytes) continue;
    if (best == nullptr || priority_of(rank, count) > priority_of(*best, count)) best = &rank;
  }
  return best;
}

void grant_free_slots(Segment& segment, const RankRecord* caller) {
  const SegmentHeader& header = segment.header();
  while (header.free_slots > 0) {
    RankRecord* best = best_ready_rank(segment);
    if (best == nullptr) return;
    grant(segment, *best, caller);
  }
  RankRecord* next = best_ready_rank(segment);
  if (next != nullptr && next != caller && next->may_come_ahead != 0) LocalRank::ring(*next);
}

void put_slot_back(SegmentHeader& header, RankRecord& rank) {
  if (rank.has_lent != 0)
    rank.has_lent = 0;
  else
    ++header.free_slots;
}

bool lend_slot_of(Segment& segment, uint32_t index) {
  const NodeLock lock(segment.header(), std::try_to_lock);
  if (!lock.is_held()) return false;
  RankRecord& rank = segment.rank(index);
  RankRecord* best = best_ready_rank(segment);
  if (best == nullptr || state_of(rank) != RankState::running || rank.has_lent != 0) return false;
  lend(segment, rank, *best);
  return true;
}

bool lend_slot_while_loading(Segment& segment) {
  RankRecord* resident = best_ready_rank(segment, true);
  for (uint32_t i = 0; resident != nullptr && i < segment.header().rank_count; ++i) {
    RankRecord& rank = segment.rank(i);
    if (state_of(rank) != RankState::loading || rank.has_lent != 0) continue;
    lend(segment, rank, *resident);
    return true;
  }
  return false;
}

void take_lent_slot_back(SegmentHeader& header, RankRecord& rank) {
  if (rank.has_lent == 0 || header.free_slots == 0) return;
  --header.free_slots;
  rank.has_lent = 0;
}

}  // namespace spillway::node
