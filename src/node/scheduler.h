// Node-level cooperative scheduling (BDMPI 4 and 5.2).
//
// The problem: more ranks than fit in memory. If all ran, each would push the others' memory out all the time. So at
// most `slot_count` ranks of a node run between two MPI calls; a rank that must wait gives its slot to a rank that can
// go on.
//
// Costs: one uncontended lock when a rank gives up its slot, one futex wake for the rank that gets it, no processor
// time while it sleeps. A rank that must wait first looks whether the news arrives: for up to 20 us where there are as
// many processors as ranks, and for up to 100 us where there are as many slots. That is cheaper than two switches.
#pragma once

#include <cstdint>

#include "node/local_rank.h"

namespace spillway::node {

class Ledger;

// Frees what a rank that has ended, in whatever state, still holds: its slot, its share of the budget. For the rank
// itself at exit.
void retire_rank(Segment& segment, uint32_t index);
// The same for the agent when the process is gone, unless the node's lock is taken: false, to be tried again.
bool try_to_retire_rank(Segment& segment, uint32_t index);

// Notes whether a rank sleeps outside of MPI with a slot, unless the node's lock is taken. Whoever waits for room does
// not count on it, as it may wait for them.
void set_sleeps_outside(Segment& segment, uint32_t index, bool sleeps);

class Scheduler {
 public:
  Scheduler(LocalRank& self, Ledger& ledger) : self_(self), ledger_(ledger) {}

  // Gets a slot, asleep until there is one, and room in the budget for all of the rank's memory.
  // REQUIRES: the rank holds no slot.
  void acquire_slot();

  // Gives the slot up; the rank is in `state` until it acquires one again.
  // REQUIRES: the rank holds a slot.
  void release_slot(RankState state);

  // The calling thread is about to wait for others, here or inside the MPI library, and comes back from it. A rank has
  // no slot while any of its threads is away: another one that computes, and then ends, would keep the slot from those
  // that the first one waits for. So of a rank whose threads call MPI at a time, some compute without a slot now and
  // then.
  void leave(RankState state);
  void come_back();

  // False also while the rank is about to get one.
  bool has_slot() const { return has_slot_; }

  // Ledger::make_resident, for a rank that has a slot.
  void make_resident(uint64_t extra_bytes);

  // Waits, in `state` and without a slot, until `met()` holds. `met` is evaluated after news were taken; it must not
  // touch user memory. `needed_arrivals` is how many messages must arrive at least before `met` can hold: the rank is
  // not woken before that. `before_sleep` is called if the rank has to sleep, while it still has its slot. A rank
  // that held a slot holds one again, and its memory may be used.
  template <typename Met, typename Needed, typename BeforeSleep>
  void block_until(RankState state, Met met, Needed needed_arrivals, BeforeSleep before_sleep) {
    const Condition condition{[](void* f) { return (*static_cast<Met*>(f))(); }, &met,
                              [](void* f) -> uint64_t { return (*static_cast<Needed*>(f))(); }, &needed_arrivals};
    if (met_soon(condition)) return;
    before_sleep();
    block_until(state, condition);
  }

  template <typename Met, typename Needed>
  void block_until(RankState state, Met met, Needed needed_arrivals) {
    block_until(state, met, needed_arrivals, [] {});
  }

  // Sleeps as block_until does, but leaves the slot alone.
  // REQUIRES: the rank has released its slot. ENSURES: it still has none.
  template <typename Met, typename Needed>
  void sleep_until(Met met, Needed needed_arrivals) {
    sleep_until(Condition{[](void* f) { return (*static_cast<Met*>(f))(); }, &met,
                          [](void* f) -> uint64_t { return (*static_cast<Needed*>(f))(); }, &needed_arrivals});
  }

  // The rank, which has no slot, goes into the MPI library: nobody may ask it for room there, and whoever did must look
  // elsewhere.
  void enter_library();

  // Lets other ready ranks run first, if there are any: for programs that poll. Returns true if another rank ran. With
  // a `pause_ns` the rank sleeps up to that long (or until it is rung) when nobody else is ready; 0 returns at once.
  bool yield(uint64_t pause_ns);

  // Of the rank's threads that wait for news.
  uint32_t sleeping_threads() const { return sleeping_threads_; }

  // Adds the time since the last call to compute or load time. For a last account at the end.
  void account_running_time();

  // Arrivals that the owner of the mailbox has taken so far; kept here because the wake-up threshold is relative to it.
  void count_taken(uint64_t cells) { taken_ += cells; }

 private:
  struct Condition {
    bool (*met)(void*);
    void* met_argument;
    uint64_t (*needed)(void*);
    void* needed_argument;
    bool is_met() const { return met(met_argument); }
  };

  void block_until(RankState state, const Condition& condition);
  bool met_soon(const Condition& condition);
  void sleep_until(const Condition& condition);
  void end_of_sleep();
  void take_slot_or_get_in_line();
  bool get_ready_ahead();
  bool is_worth_evicting_for() const;
  bool rewrites_much_of_what_it_misses() const;
  void load(bool is_ahead);
  void start_running();

  LocalRank& self_;
  Ledger& ledger_;
  bool has_slot_ = false;
  bool is_acquiring_ = false;
  uint32_t away_threads_ = 0;
  uint32_t sleeping_threads_ = 0;
  uint64_t taken_ = 0;
  uint64_t running_since_ns_ = 0;
  uint64_t running_cpu_ns_ = 0;
  long running_faults_ = 0;
  uint64_t loads_ahead_ns_ = 0;       // that others did not wait for
  uint64_t transfers_before_ns_ = 0;  // loading and unloading until the slot before
  uint64_t last_transfer_ns_ = 0;     // since then
  bool gains_from_coming_ahead_ = false;
};

}  // namespace spillway::node
