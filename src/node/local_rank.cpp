#include "node/local_rank.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/futex.h"
#include "base/system_calls.h"

namespace spillway::node {
namespace {

// How soon a rank is asked again whose threads could not be stopped. Those that wait for room do not wait for the
// longest (Ledger).
constexpr uint64_t kShortestRestNs = 10000000;
constexpr uint64_t kLongestRestNs = 5000000000;

}  // namespace

void LocalRank::ring_next_rank(Segment& segment) {
  const SegmentHeader& header = segment.header();
  if (header.next_rank == kNoIndex) return;
  RankRecord& next = segment.rank(header.next_rank);
  uint64_t used = header.resident_bytes + header.store_bytes + next.managed_bytes - next.resident_bytes;
  for (uint32_t i = 0; next.may_come_ahead == 2 && i < header.rank_count; ++i) {
    const auto state = static_cast<RankState>(segment.rank(i).state.load());
    if (state == RankState::blocked_receive || state == RankState::blocked_collective)
      used -= std::min(used, segment.rank(i).resident_bytes.load());
  }
  if (used <= header.budget_bytes) ring(next);
}

void LocalRank::ring(RankRecord& rank) {
  rank.doorbell.fetch_add(1);
  base::futex_wake(rank.doorbell);
}

void LocalRank::ring_any(RankRecord& receiver) const {
  if (&receiver != &segment_.courier()) return ring(receiver);
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = base::kernel::write_bytes(courier_bell_, &one, sizeof one);
}

void LocalRank::ring_loading_ranks(Segment& segment) {
  const SegmentHeader& header = segment.header();
  if (header.loading_ranks == 0) return ring_next_rank(segment);
  for (uint32_t i = 0; i < header.rank_count; ++i)
    if (segment.rank(i).load_ticket != 0) ring(segment.rank(i));
}

void LocalRank::attend_and_sleep(uint32_t bell, uint64_t timeout_ns) {
  // The agent has found the job broken and ends every process: do nothing more that could hide the first message.
  while (header().job_failed != 0) pause();
  if (hooks_.take_news != nullptr) hooks_.take_news();
  if (record().evict_wanted != 0) make_room_for_others();
  const uint64_t next_turn_ns = hooks_.progress_library != nullptr ? hooks_.progress_library() : 0;
  if (next_turn_ns != 0 && (timeout_ns == 0 || next_turn_ns < timeout_ns)) timeout_ns = next_turn_ns;
  if (hooks_.before_sleep != nullptr) hooks_.before_sleep();
  base::futex_wait(record().doorbell, bell, timeout_ns);
  if (hooks_.after_sleep != nullptr) hooks_.after_sleep();
}

void LocalRank::make_room_for_others() {
  const uint64_t wanted = record().evict_wanted;
  const uint64_t begin = base::now_ns();
  record().statistics.unloads.fetch_add(1);
  const bool is_pinned = record().pins != 0 || record().library_calls != 0;  // since it was asked
  const Unloaded unloaded = hooks_.unload != nullptr && !is_pinned ? hooks_.unload(wanted) : Unloaded{};
  record().statistics.unload_ns.fetch_add(base::now_ns() - begin);
  NodeLock lock(header());
  record().evict_wanted = 0;
  const bool will_be_asked_again = header().loading_ranks != 0 || header().next_rank != kNoIndex;
  if (!is_pinned && will_be_asked_again) rest_from_requests(unloaded.threads);
  if (unloaded.bytes < wanted && unloaded.threads == ThreadStop::stopped && !is_pinned) {
    // All is unloaded. Whatever is still charged cannot be given up now (another thread is about to allocate or free
    // it): charged, it would be asked for without end. The next make_resident sets it right.
    const uint64_t stays = std::min<uint64_t>(record().resident_bytes, record().pinned_bytes);
    header().resident_bytes -= record().resident_bytes - stays;
    record().resident_bytes = stays;
  }
  ring_loading_ranks();
}

void LocalRank::rest_from_requests(ThreadStop threads) {
  rest_ns_ = threads == ThreadStop::not_now ? std::clamp(2 * rest_ns_, kShortestRestNs, kLongestRestNs) : 0;
  if (threads == ThreadStop::not_allowed && record().other_threads != 0)
    record().busy_until_ns = ~uint64_t{0};
  else
    record().busy_until_ns = rest_ns_ == 0 ? 0 : base::now_ns() + rest_ns_;
}

}  // namespace spillway::node
