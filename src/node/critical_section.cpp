#include "node/critical_section.h"

namespace spillway::node {
namespace {

// [lock]
void hand_over(Segment& segment) {
  SegmentHeader& header = segment.header();
  header.critical_rank = kNoIndex;
  uint32_t first = kNoIndex;
  for (uint32_t i = 0; i < header.rank_count; ++i) {
    const uint64_t ticket = segment.rank(i).critical_ticket;
    if (ticket != 0 && (first == kNoIndex || ticket < segment.rank(first).critical_ticket)) first = i;
  }
  if (first == kNoIndex) return;
  segment.rank(first).critical_ticket = 0;
  header.critical_rank = first;
  LocalRank::ring(segment.rank(first));
}

}  // namespace

void abandon_critical_section(Segment& segment, uint32_t index) {
  segment.rank(index).critical_ticket = 0;
  if (segment.header().critical_rank == index) hand_over(segment);
}

bool CriticalSection::enter_or_get_in_line() {
  NodeLock lock(self_.header());
  SegmentHeader& header = self_.header();
  if (header.critical_rank != kNoIndex) {
    self_.record().critical_ticket = ++header.next_critical_ticket;
    return false;
  }
  header.critical_rank = self_.index();
  return true;
}

void CriticalSection::wait_for_turn() {
  scheduler_.block_until(
      RankState::blocked_receive, [this] { return is_inside(); }, [] { return uint64_t{1}; });
}

CriticalResult CriticalSection::exit() {
  if (!is_inside()) return CriticalResult::not_inside;
  NodeLock lock(self_.header());
  hand_over(self_.segment());
  return CriticalResult::done;
}

}  // namespace spillway::node
