#include "node/ledger.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"

namespace spillway::node {
namespace {

constexpr uint64_t kMiB = 1 << 20;

bool is_blocked(RankState state) {
  return state == RankState::blocked_receive || state == RankState::blocked_collective;
}

}  // namespace

// A sixteenth of the budget is the message store's at any time, so that small exchanges stay in memory however full the node is.
uint64_t Ledger::store_floor_bytes() const {
  const uint64_t budget = self_.header().budget_bytes;
  return std::clamp(budget / 16, std::min<uint64_t>(2 * kMiB, budget / 8), 256 * kMiB);
}

// `--memory` is about the program's data: of the rest, 24 MiB per node and 3 MiB per rank are free.
uint64_t Ledger::base_excess_bytes() const {
  const uint64_t slack = (24 + 3ull * self_.rank_count()) * kMiB;
  const uint64_t base = self_.header().base_bytes;
  return base > slack ? base - slack : 0;
}

uint64_t Ledger::used_bytes() const {
  const SegmentHeader& header = self_.header();
  return header.resident_bytes + std::max(header.store_bytes.load(), store_floor_bytes()) + base_excess_bytes();
}

void Ledger::add_resident(uint64_t resident, uint64_t managed) {
  SegmentHeader& header = self_.header();
  self_.record().resident_bytes += resident;
  self_.record().managed_bytes += managed;
  header.resident_bytes += resident;
  const uint64_t counted = header.resident_bytes + header.store_bytes + base_excess_bytes();
  if (counted > header.peak_bytes) header.peak_bytes = counted;
}

bool Ledger::try_make_resident(uint64_t extra_bytes) {
  const RankRecord& me = self_.record();
  const uint64_t charge = me.managed_bytes + extra_bytes - me.resident_bytes;
  if (used_bytes() + charge > self_.header().budget_bytes) return false;
  charge_everything(extra_bytes);
  return true;
}

void Ledger::charge_everything(uint64_t extra_bytes) {
  const RankRecord& me = self_.record();
  add_resident(me.managed_bytes + extra_bytes - me.resident_bytes, extra_bytes);
  if (self_.hooks().all_charged != nullptr) self_.hooks().all_charged();
}

void Ledger::adopt(uint64_t bytes) {
  NodeLock lock(self_.header());
  self_.record().managed_bytes += bytes;
}

void Ledger::charge(uint64_t extra_bytes) {
  NodeLock lock(self_.header());
  add_resident(extra_bytes, extra_bytes);
}

void Ledger::make_resident(uint64_t extra_bytes) {
  RankRecord& me = self_.record();
  SegmentHeader& header = self_.header();
  if (extra_bytes == 0 && me.resident_bytes == me.managed_bytes) return;
  {
    NodeLock lock(header);
    if (try_make_resident(extra_bytes)) return;
  }
  fail_if_rank_cannot_fit(extra_bytes);
  if (self_.hooks().trim_store != nullptr) self_.hooks().trim_store(extra_bytes + me.managed_bytes - me.resident_bytes);
  const auto state_before = me.state.load();
  for (;;) {
    const uint32_t bell = me.doorbell;
    {
      NodeLock lock(header);
      if (me.load_ticket == 0) {
        me.load_ticket = ++header.next_load_ticket;
        ++header.loading_ranks;
        me.state = static_cast<uint32_t>(RankState::loading);
      }
      bool done = try_make_resident(extra_bytes);
      if (!done) {
        ask_for_room(used_bytes() + me.managed_bytes + extra_bytes - me.resident_bytes - header.budget_bytes);
        // Only messages that wait for sleeping ranks are in the way: going on is the only way to get them delivered.
        done = !someone_can_still_make_room();
        if (done) charge_everything(extra_bytes);
      }
      if (done) {
        me.load_ticket = 0;
        me.evict_wanted = 0;
        --header.loading_ranks;
        me.state = state_before;
        self_.ring_loading_ranks();
        return;
      }
    }
    self_.attend_and_sleep(bell);
  }
}

bool Ledger::may_unload(const RankRecord& rank) const {
  const RankRecord& me = self_.record();
  if (&rank == &me || rank.pins != 0 || rank.resident_bytes <= rank.evict_wanted) return false;
  const auto state = static_cast<RankState>(rank.state.load());
  return is_blocked(state) || state == RankState::ready ||
         (state == RankState::loading && rank.load_ticket > me.load_ticket);
}

RankRecord* Ledger::best_victim() {
  RankRecord* best = nullptr;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    RankRecord& rank = self_.peer(i);
    if (!may_unload(rank)) continue;
    if (best == nullptr) {
      best = &rank;
      continue;
    }
    const bool rank_blocked = is_blocked(static_cast<RankState>(rank.state.load()));
    const bool best_blocked = is_blocked(static_cast<RankState>(best->state.load()));
    if (rank_blocked != best_blocked ? rank_blocked : rank.blocked_since_ns > best->blocked_since_ns) best = &rank;
  }
  return best;
}

void Ledger::ask_for_room(uint64_t missing) {
  uint64_t asked = 0;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) asked += self_.peer(i).evict_wanted;
  while (asked < missing) {
    RankRecord* victim = best_victim();
    if (victim == nullptr) return;
    const uint64_t share = std::min(victim->resident_bytes - victim->evict_wanted, missing - asked);
    victim->evict_wanted += share;
    asked += share;
    LocalRank::ring(*victim);
  }
}

bool Ledger::someone_can_still_make_room() const {
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    const RankRecord& rank = self_.peer(i);
    if (&rank == &self_.record()) continue;
    const auto state = static_cast<RankState>(rank.state.load());
    if (rank.evict_wanted != 0 || state == RankState::running || state == RankState::delegated) return true;
    if (state == RankState::loading && rank.load_ticket < self_.record().load_ticket) return true;
    if (may_unload(rank)) return true;
  }
  return false;
}

void Ledger::fail_if_rank_cannot_fit(uint64_t extra_bytes) const {
  const uint64_t own = self_.record().managed_bytes + extra_bytes;
  const uint64_t base = base_excess_bytes();
  const uint64_t budget = self_.header().budget_bytes;
  if (own + store_floor_bytes() + base <= budget) return;
  // The store's floor grows with the budget: what is named must still be enough when that is added.
  const uint64_t enough = (own + base) + (own + base) / 14 + 3 * kMiB;
  const auto in_mib = [](uint64_t bytes) { return static_cast<unsigned long long>((bytes + kMiB - 1) / kMiB); };
  base::fatal(
      "needs %llu MiB of memory at once, which --memory %lluM does not allow\n"
      "  Cause:  besides, %llu MiB are kept for messages, and %llu MiB go to what %u processes and their libraries take themselves.\n"
      "  Remedy: give --memory %lluM or more, or %s.",
      in_mib(own), in_mib(budget), in_mib(store_floor_bytes()), in_mib(base), self_.rank_count(), in_mib(enough),
      base > own ? "run with fewer ranks, so that less goes to processes" : "run with more ranks, so that each holds less");
}

void Ledger::give_back(uint64_t resident_bytes, uint64_t managed_bytes) {
  NodeLock lock(self_.header());
  self_.record().resident_bytes -= resident_bytes;
  self_.record().managed_bytes -= managed_bytes;
  self_.header().resident_bytes -= resident_bytes;
  self_.ring_loading_ranks();
}

bool Ledger::charge_store(uint64_t bytes) {
  NodeLock lock(self_.header());
  SegmentHeader& header = self_.header();
  const uint64_t after = header.store_bytes + bytes;
  if (after > store_floor_bytes()) {
    // Beyond its floor the store takes only what nobody misses: the ranks that run must always find room.
    uint64_t largest = 0;
    for (uint32_t i = 0; i < self_.rank_count(); ++i)
      largest = std::max(largest, self_.peer(i).managed_bytes.load());
    const uint64_t kept = largest * header.slot_count + base_excess_bytes();
    const uint64_t resident_after = header.resident_bytes + base_excess_bytes() + after;
    if (resident_after > header.budget_bytes || after + kept > header.budget_bytes) return false;
  }
  header.store_bytes += bytes;
  add_resident(0, 0);
  return true;
}

void Ledger::give_back_store(uint64_t bytes) {
  NodeLock lock(self_.header());
  self_.header().store_bytes -= bytes;
  self_.ring_loading_ranks();
}

void Ledger::set_base(uint64_t bytes) {
  NodeLock lock(self_.header());
  self_.header().base_bytes += bytes - self_.record().base_bytes;
  self_.record().base_bytes = bytes;
  add_resident(0, 0);
}

}  // namespace spillway::node
