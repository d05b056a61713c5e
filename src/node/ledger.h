// The node's memory budget: who has how much of it, and how room is made (SBMA 3.2, 4.5).
//
// What is counted, in bytes (see SegmentHeader):
//   used = sum of resident_bytes over ranks                    storage-backed memory
//        + max(store_bytes, store_floor)                       the message store's chunks
//        + max(0, sum of base_bytes over ranks                 programs, libraries, small variables,
//                 + a reserve for their growth - base_slack)
// and the invariant is used <= budget_bytes whenever a rank is let run. What of the reserve has not been needed does
// not show in peak_bytes.
//
// A rank that goes on is charged for all of its memory at once, before it runs: pages come in by the kernel's fault
// path, which nobody can stop half-way. When there is no room, the rank waits in state `loading` and asks ranks that
// sleep to unload: first the one that blocked last (it has just finished its phase; the scheduler runs those that stay
// resident first, so whatever stays is used before it is evicted), and ready ranks only after all blocked ones. Waiting
// ranks may be unloaded too, all but the one that has waited longest: it gets its room in the end, so two ranks that
// each hold what the other needs cannot stop each other. Ranks that need less may take room before it, but no more
// often than there are ranks on the node. When no rank can make room, messages that wait for sleeping ranks are moved
// to storage, once the courier is done with those that come in. When that is not enough either (what is left is pinned)
// the rank goes on all the same, and the ledger shows it. Before that, and before it is refused because it does not fit
// alone, what it has never touched of its static data is left out of the account.
#pragma once

#include <cstdint>

#include "node/local_rank.h"

namespace spillway::node {

class Ledger {
 public:
  explicit Ledger(LocalRank& self) : self_(self) {}

  // Charges the rank for all its storage-backed memory and `extra_bytes` that it is about to allocate; asleep until
  // there is room. Waits too when nothing is to be charged but the node is over its budget. REQUIRES: the rank holds a
  // slot. ENSURES: record.resident_bytes == record.managed_bytes, both with the extra bytes. Ends the job with a
  // message when the rank alone does not fit.
  void make_resident(uint64_t extra_bytes);

  // For the rank that gets a slot next, while others compute: charges it, if there is room beside them. If there is
  // none, and it is `worth_evicting` for, asks blocked ranks, if they have as much. True when it has been charged.
  // [lock]
  bool make_resident_ahead(bool worth_evicting);

  // As make_resident() without waiting, for threads that cannot sleep on the rank's behalf: may go beyond the budget.
  void charge(uint64_t extra_bytes);

  // Memory that the rank had before it attached, and what of it is in memory.
  void adopt(uint64_t resident_bytes, uint64_t managed_bytes);

  // The rank has given up `resident_bytes` of residency; of its memory `managed_bytes` are freed for good.
  // Once the rank has retired, this and the calls above do nothing: destructors may free memory after that.
  void give_back(uint64_t resident_bytes, uint64_t managed_bytes);

  // How much memory that it does not use the rank may keep: nothing when more than half of the budget is used or
  // somebody waits for room. What all ranks keep is a small part of the budget, as nobody gets it from a rank that
  // computes.
  uint64_t spare_limit() const;

  // For the message store: room for `bytes` more, or false when the payload should go to storage. Never waits, never
  // evicts.
  bool charge_store(uint64_t bytes);
  void give_back_store(uint64_t bytes);

  // Replaces what is counted for the rank's own program, libraries and what else is never unloaded.
  void set_base(uint64_t bytes);

 private:
  // Where room may still come from, for a rank that waits for it.
  enum class Hope { fulfilled, in_ranks, elsewhere, none };  // elsewhere: they wait in the library, or outside of MPI

  uint64_t used_bytes() const;                              // [lock]
  uint64_t reserved_base_bytes() const;                     // [lock]
  uint64_t base_excess_bytes(uint64_t growth_bytes) const;  // [lock]
  uint64_t store_floor_bytes() const;
  void add_resident(uint64_t resident, uint64_t managed);  // [lock]
  void take_resident(uint64_t bytes);                      // [lock]
  uint64_t missing_charge(uint64_t extra_bytes) const;
  bool is_anyone_ahead() const;                  // [lock]
  bool try_make_resident(uint64_t extra_bytes);  // [lock]
  void charge_everything(uint64_t extra_bytes);  // [lock]
  void leave_line();                             // [lock]
  void wait_for_room(uint64_t extra_bytes);
  Hope look_for_room(uint64_t extra_bytes);
  bool lend_slot();
  bool is_courier_filling() const { return self_.peer(self_.rank_count()).pins != 0; }
  void overdraw(uint64_t extra_bytes);
  uint64_t missing_room(uint64_t extra_bytes) const;
  uint64_t uncount_untouched(uint64_t wanted_bytes);
  uint64_t trim_store();
  uint64_t spill_store(uint64_t extra_bytes);
  using Victims = bool (*)(const RankRecord&);
  uint64_t room_asked_for() const;                       // [lock]
  void ask_for_room(uint64_t missing, Victims victims);  // [lock]
  RankRecord* best_victim(Victims victims);              // [lock]
  bool may_unload(const RankRecord& rank) const;         // [lock]
  Hope who_can_still_make_room() const;                  // [lock]
  uint64_t bytes_beyond_budget(uint64_t extra_bytes) const;
  void fail_if_rank_cannot_fit(uint64_t extra_bytes) const;

  LocalRank& self_;
};

}  // namespace spillway::node
