#include "node/ledger.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "node/slots.h"

namespace spillway::node {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// A rank inside the MPI library is soon back, unless the library waits in there for this very rank. Threads that could
// not be stopped soon can be, unless they compute on and on.
constexpr uint64_t kPatienceElsewhereNs = 1000000000;

// What comes from another node is a matter of its length and the network's speed.
constexpr uint64_t kPatienceWithCourierNs = 10000000000;
constexpr uint64_t kLookAtCourierNs = 5000000;

// What is never unloaded grows while a rank runs, and is seen when it has grown. Ranks are admitted as if each had
// grown by this much.
constexpr uint64_t kGrowthPerRank = kMiB;

// Also by a thread of it while another one waits for something else, which is what the state tells then.
bool is_in_library(const RankRecord& rank) {
  const auto state = static_cast<RankState>(rank.state.load());
  return state == RankState::delegated || (rank.library_calls != 0 && state != RankState::finished);
}

// Its other threads could not be stopped when it was last asked, and it is not to be asked again for so long.
uint64_t rest_ns(const RankRecord& rank) {
  const uint64_t until_ns = rank.busy_until_ns, now_ns = base::now_ns();
  return until_ns > now_ns ? until_ns - now_ns : 0;
}

// What the rank can still be asked for.
uint64_t spare_bytes(const RankRecord& rank) {
  const uint64_t kept = rank.evict_wanted + rank.pinned_bytes;
  return rank.resident_bytes > kept ? rank.resident_bytes - kept : 0;
}

bool is_blocked(const RankRecord& rank) {
  const auto state = static_cast<RankState>(rank.state.load());
  return state == RankState::blocked_receive || state == RankState::blocked_collective;
}

bool is_any(const RankRecord& /*rank*/) { return true; }

}  // namespace

// A sixteenth of the budget is the message store's at any time, so that small exchanges stay in memory however full the
// node is.
uint64_t Ledger::store_floor_bytes() const {
  const uint64_t budget = self_.header().budget_bytes;
  return std::clamp(budget / 16, std::min<uint64_t>(2 * kMiB, budget / 8), 256 * kMiB);
}

// `--memory` is about the program's data: of the rest, 20 MiB per node and 3.5 MiB per rank are free. Over the budget
// 32 MiB and 4 MiB per rank are promised; the difference is for what nobody counts.
uint64_t Ledger::base_excess_bytes(uint64_t growth_bytes) const {
  const uint64_t slack = 20 * kMiB + self_.rank_count() * (7 * kMiB / 2);
  const SegmentHeader& header = self_.header();
  const uint64_t cells = std::min<uint64_t>(header.used_cells, header.cell_count);  // once used, their memory stays
  const uint64_t base = header.base_bytes + cells * kCellBytes + growth_bytes;
  return base > slack ? base - slack : 0;
}

uint64_t Ledger::reserved_base_bytes() const { return base_excess_bytes(self_.rank_count() * kGrowthPerRank); }

uint64_t Ledger::used_bytes() const {
  const SegmentHeader& header = self_.header();
  return header.resident_bytes + std::max(header.store_bytes.load(), store_floor_bytes()) + reserved_base_bytes();
}

void Ledger::add_resident(uint64_t resident, uint64_t managed) {
  SegmentHeader& header = self_.header();
  self_.record().resident_bytes += resident;
  self_.record().managed_bytes += managed;
  header.resident_bytes += resident;
  const uint64_t counted = header.resident_bytes + header.store_bytes + base_excess_bytes(0);
  if (counted > header.peak_bytes) header.peak_bytes = counted;
}

void Ledger::take_resident(uint64_t bytes) {
  self_.record().resident_bytes -= bytes;
  self_.header().resident_bytes -= bytes;
}

uint64_t Ledger::missing_charge(uint64_t extra_bytes) const {
  return self_.record().managed_bytes + extra_bytes - self_.record().resident_bytes;
}

bool Ledger::is_anyone_ahead() const {
  const uint64_t mine = self_.record().load_ticket;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    const uint64_t ticket = self_.peer(i).load_ticket;
    if (ticket != 0 && (mine == 0 || ticket < mine)) return true;
  }
  return false;
}

bool Ledger::try_make_resident(uint64_t extra_bytes) {
  SegmentHeader& header = self_.header();
  const uint64_t charge = missing_charge(extra_bytes);
  if (used_bytes() + charge > header.budget_bytes) return false;
  if (charge != 0 && header.loading_ranks != 0 && is_anyone_ahead() && ++header.overtakings > self_.rank_count())
    return false;
  charge_everything(extra_bytes);
  return true;
}

void Ledger::charge_everything(uint64_t extra_bytes) {
  add_resident(missing_charge(extra_bytes), extra_bytes);
  if (self_.hooks().all_charged != nullptr) self_.hooks().all_charged();
}

void Ledger::charge(uint64_t extra_bytes) { adopt(extra_bytes, extra_bytes); }

void Ledger::adopt(uint64_t resident_bytes, uint64_t managed_bytes) {
  NodeLock lock(self_.header());
  if (self_.state() != RankState::finished) add_resident(resident_bytes, managed_bytes);
}

void Ledger::make_resident(uint64_t extra_bytes) {
  if (self_.state() == RankState::finished) return;
  if (extra_bytes == 0 && missing_charge(0) == 0 && used_bytes() <= self_.header().budget_bytes) return;
  {
    NodeLock lock(self_.header());
    if (try_make_resident(extra_bytes)) return;
  }
  if (self_.hooks().drop_spare != nullptr) self_.hooks().drop_spare();
  // Again, when what others take has grown meanwhile.
  while (const uint64_t beyond = bytes_beyond_budget(extra_bytes))
    if (uncount_untouched(beyond) == 0) fail_if_rank_cannot_fit(extra_bytes);
  trim_store();
  wait_for_room(extra_bytes);
}

void Ledger::wait_for_room(uint64_t extra_bytes) {
  uint64_t patience_ends_ns = 0;  // 0: there is hope for room from ranks that go on
  const uint64_t patience_with_courier_ends_ns = base::now_ns() + kPatienceWithCourierNs;
  for (;;) {
    const uint32_t bell = self_.record().doorbell;
    const Hope hope = look_for_room(extra_bytes);
    if (hope == Hope::fulfilled) return;
    if (hope != Hope::elsewhere)
      patience_ends_ns = 0;
    else if (patience_ends_ns == 0)
      patience_ends_ns = base::now_ns() + kPatienceElsewhereNs;
    if (hope == Hope::none || (patience_ends_ns != 0 && base::now_ns() >= patience_ends_ns)) {
      if (trim_store() != 0 || lend_slot() || uncount_untouched(missing_room(extra_bytes)) != 0 ||
          spill_store(extra_bytes) != 0)
        continue;
      if (!is_courier_filling() || base::now_ns() >= patience_with_courier_ends_ns) return overdraw(extra_bytes);
      self_.attend_and_sleep(bell, kLookAtCourierNs);
      continue;
    }
    self_.attend_and_sleep(bell, patience_ends_ns == 0 ? 0 : kPatienceElsewhereNs / 8);
  }
}

Ledger::Hope Ledger::look_for_room(uint64_t extra_bytes) {
  NodeLock lock(self_.header());
  RankRecord& me = self_.record();
  SegmentHeader& header = self_.header();
  if (me.load_ticket == 0) {
    me.load_ticket = ++header.next_load_ticket;
    ++header.loading_ranks;
    me.state = static_cast<uint32_t>(RankState::loading);
    self_.ring_loading_ranks();  // those that came earlier may unload this one now
  }
  if (try_make_resident(extra_bytes)) {
    leave_line();
    return Hope::fulfilled;
  }
  const uint64_t wanted = used_bytes() + missing_charge(extra_bytes);
  if (wanted > header.budget_bytes) ask_for_room(wanted - header.budget_bytes, is_any);
  return who_can_still_make_room();
}

// Who has memory that must stay until it has gone on may only wait for a slot.
bool Ledger::lend_slot() {
  const NodeLock lock(self_.header());
  return lend_slot_while_loading(self_.segment());
}

// Only memory that cannot be unloaded is in the way: going on is the only way to get it freed.
void Ledger::overdraw(uint64_t extra_bytes) {
  NodeLock lock(self_.header());
  charge_everything(extra_bytes);
  leave_line();
}

void Ledger::leave_line() {
  RankRecord& me = self_.record();
  if (!is_anyone_ahead()) self_.header().overtakings = 0;
  me.load_ticket = 0;
  me.evict_wanted = 0;
  --self_.header().loading_ranks;
  me.state = static_cast<uint32_t>(RankState::running);
  take_lent_slot_back(self_.header(), me);
  self_.ring_loading_ranks();
}

uint64_t Ledger::missing_room(uint64_t extra_bytes) const {
  NodeLock lock(self_.header());
  const uint64_t wanted = used_bytes() + missing_charge(extra_bytes);
  return wanted > self_.header().budget_bytes ? wanted - self_.header().budget_bytes : 0;
}

uint64_t Ledger::uncount_untouched(uint64_t wanted_bytes) {
  if (wanted_bytes == 0 || self_.hooks().uncount_untouched == nullptr) return 0;
  return self_.hooks().uncount_untouched(wanted_bytes);
}

uint64_t Ledger::trim_store() { return self_.hooks().trim_store != nullptr ? self_.hooks().trim_store() : 0; }

uint64_t Ledger::spill_store(uint64_t extra_bytes) {
  uint64_t wanted = 0;
  {
    NodeLock lock(self_.header());
    const uint64_t after = used_bytes() + missing_charge(extra_bytes);
    const uint64_t budget = self_.header().budget_bytes, store = self_.header().store_bytes;
    if (after <= budget) return 1;  // there is room by now
    if (store <= store_floor_bytes()) return 0;
    wanted = std::min(after - budget, store - store_floor_bytes());
  }
  return self_.hooks().spill_store != nullptr ? self_.hooks().spill_store(wanted) : 0;
}

bool Ledger::may_unload(const RankRecord& rank) const {
  const RankRecord& me = self_.record();
  if (&rank == &me || rank.pins != 0 || rank.library_calls != 0 || rest_ns(rank) != 0) return false;
  if (spare_bytes(rank) == 0) return false;
  const auto state = static_cast<RankState>(rank.state.load());
  return is_blocked(rank) || state == RankState::ready ||
         (state == RankState::loading && rank.load_ticket > me.load_ticket);
}

RankRecord* Ledger::best_victim(Victims victims) {
  RankRecord* best = nullptr;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    RankRecord& rank = self_.peer(i);
    if (!may_unload(rank) || !victims(rank)) continue;
    const bool is_better =
        best == nullptr ||
        (is_blocked(rank) != is_blocked(*best) ? is_blocked(rank) : rank.blocked_since_ns > best->blocked_since_ns);
    if (is_better) best = &rank;
  }
  return best;
}

uint64_t Ledger::room_asked_for() const {
  uint64_t asked = 0;
  for (uint32_t i = 0; i < self_.rank_count(); ++i)
    if (!is_in_library(self_.peer(i))) asked += self_.peer(i).evict_wanted;
  return asked;
}

void Ledger::ask_for_room(uint64_t missing, Victims victims) {
  uint64_t asked = room_asked_for();
  while (asked < missing) {
    RankRecord* victim = best_victim(victims);
    if (victim == nullptr) return;
    const uint64_t share = std::min(spare_bytes(*victim), missing - asked);
    victim->evict_wanted += share;
    asked += share;
    LocalRank::ring(*victim);
  }
}

bool Ledger::make_resident_ahead(bool worth_evicting) {
  SegmentHeader& header = self_.header();
  const uint64_t wanted = used_bytes() + missing_charge(0);
  if (missing_charge(0) == 0 || header.loading_ranks != 0) return false;
  if (wanted <= header.budget_bytes) {
    self_.record().evict_wanted = 0;  // whoever asked has found room
    charge_everything(0);
    return true;
  }
  if (!worth_evicting) return false;
  uint64_t to_be_had = room_asked_for() - self_.record().evict_wanted;
  for (uint32_t i = 0; i < self_.rank_count(); ++i)
    if (may_unload(self_.peer(i)) && is_blocked(self_.peer(i))) to_be_had += spare_bytes(self_.peer(i));
  if (to_be_had >= wanted - header.budget_bytes) ask_for_room(wanted - header.budget_bytes, is_blocked);
  return false;
}

Ledger::Hope Ledger::who_can_still_make_room() const {
  Hope hope = Hope::none;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) {
    const RankRecord& rank = self_.peer(i);
    if (&rank == &self_.record()) continue;
    const auto state = static_cast<RankState>(rank.state.load());
    const bool is_asleep = state == RankState::running && rank.sleeps_outside != 0;
    const bool has_refused = rank.busy_until_ns != 0 && rank.pins == 0 && rank.resident_bytes > rank.pinned_bytes;
    if ((state == RankState::running && !is_asleep) || (may_unload(rank) && !has_refused)) return Hope::in_ranks;
    if (state == RankState::loading && rank.load_ticket < self_.record().load_ticket) return Hope::in_ranks;
    if (is_in_library(rank) || is_asleep || (has_refused && rest_ns(rank) < kPatienceElsewhereNs))
      hope = Hope::elsewhere;
    else if (rank.evict_wanted != 0)
      return Hope::in_ranks;
  }
  return hope;
}

// What the rank alone is too large by.
uint64_t Ledger::bytes_beyond_budget(uint64_t extra_bytes) const {
  const uint64_t needed = self_.record().managed_bytes + extra_bytes + store_floor_bytes() + reserved_base_bytes();
  const uint64_t budget = self_.header().budget_bytes;
  return needed > budget ? needed - budget : 0;
}

void Ledger::fail_if_rank_cannot_fit(uint64_t extra_bytes) const {
  if (bytes_beyond_budget(extra_bytes) == 0) return;
  const uint64_t own = self_.record().managed_bytes + extra_bytes;
  const uint64_t base = reserved_base_bytes();
  const uint64_t budget = self_.header().budget_bytes;
  // The store's floor grows with the budget, and what is never unloaded grows with the program's work: what is named
  // must still be enough then.
  const uint64_t growth = base != 0 ? self_.rank_count() * kGrowthPerRank : 0;
  const uint64_t enough = (own + base + growth) + (own + base + growth) / 14 + 3 * kMiB;
  const auto in_mib = [](uint64_t bytes) { return static_cast<unsigned long long>((bytes + kMiB - 1) / kMiB); };
  base::fatal(
      "needs %llu MiB of memory at once, which --memory %lluM does not allow\n"
      "  Cause:  besides, %llu MiB are kept for messages, and so far %llu MiB go to what is never unloaded of %u "
      "processes: programs,\n          libraries, small variables and allocations.\n"
      "  Remedy: give --memory %lluM or more, or %s.",
      in_mib(own), in_mib(budget), in_mib(store_floor_bytes()), in_mib(base), self_.rank_count(), in_mib(enough),
      base > own ? "run with fewer ranks, unless the program itself has much data that are never unloaded"
                 : "run with more ranks, so that each holds less");
}

void Ledger::give_back(uint64_t resident_bytes, uint64_t managed_bytes) {
  NodeLock lock(self_.header());
  RankRecord& me = self_.record();
  if (self_.state() == RankState::finished) return;
  take_resident(std::min<uint64_t>(resident_bytes, me.resident_bytes));
  me.managed_bytes -= managed_bytes;
  // A thread that frees unloaded memory while the rank is being charged for all of it has already said that nothing of
  // it is resident.
  if (me.resident_bytes > me.managed_bytes) take_resident(me.resident_bytes - me.managed_bytes);
  self_.ring_loading_ranks();
}

uint64_t Ledger::spare_limit() const {
  NodeLock lock(self_.header());
  const uint64_t budget = self_.header().budget_bytes;
  return used_bytes() <= budget / 2 && self_.header().loading_ranks == 0 ? budget / 8 / self_.rank_count() : 0;
}

bool Ledger::charge_store(uint64_t bytes) {
  NodeLock lock(self_.header());
  SegmentHeader& header = self_.header();
  const uint64_t after = header.store_bytes + bytes;
  if (after > store_floor_bytes()) {
    // Beyond its floor the store takes only what nobody misses: the ranks that run must always find room.
    uint64_t largest = 0;
    for (uint32_t i = 0; i < self_.rank_count(); ++i) largest = std::max(largest, self_.peer(i).managed_bytes.load());
    const uint64_t kept = largest * header.slot_count + reserved_base_bytes();
    const uint64_t resident_after = header.resident_bytes + reserved_base_bytes() + after;
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
  if (bytes == self_.record().base_bytes) return;
  NodeLock lock(self_.header());
  if (self_.state() == RankState::finished) return;
  self_.header().base_bytes += bytes - self_.record().base_bytes;
  self_.record().base_bytes = bytes;
  add_resident(0, 0);
}

}  // namespace spillway::node
