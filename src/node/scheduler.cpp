#include "node/scheduler.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/futex.h"
#include "node/critical_section.h"
#include "node/ledger.h"
#include "node/slots.h"

namespace spillway::node {
namespace {

constexpr uint64_t kSpinNs = 20000;              // about two futex switches
constexpr uint64_t kLongestFaultNs = 100000000;  // one read of what is unloaded

// Where every rank has a slot and a processor, nobody misses the one that spins. Long enough for the answer of a rank
// that had to be woken for it: of two ranks that take turns, each would else wait by sleeping because the other does.
// Without a processor for each, the rank gives its own to the others between two looks: an allreduce of 8 ranks on 2
// cores took 94 microseconds by sleeping and takes 16 so (bench/micro).
constexpr uint64_t kSpinWithoutRivalsNs = 100000;

// How long the rank has waited since this was made. What it spent on unloading meanwhile counts as that, not twice.
class WaitingTime {
 public:
  explicit WaitingTime(const RankStatistics& statistics)
      : statistics_(statistics), begin_ns_(base::now_ns()), unloaded_before_ns_(statistics.unload_ns) {}

  uint64_t ns() const {
    const uint64_t elapsed = base::now_ns() - begin_ns_;
    const uint64_t unloaded = statistics_.unload_ns - unloaded_before_ns_;
    return elapsed > unloaded ? elapsed - unloaded : 0;
  }

 private:
  const RankStatistics& statistics_;
  uint64_t begin_ns_;
  uint64_t unloaded_before_ns_;
};

long major_faults() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_majflt;
}

void add(std::atomic<uint64_t>& counter, uint64_t value) { counter.store(counter.load() + value); }

// [lock]
void retire(Segment& segment, uint32_t index) {
  SegmentHeader& header = segment.header();
  RankRecord& rank = segment.rank(index);
  const auto state = static_cast<RankState>(rank.state.load());
  if (state == RankState::finished) return;
  if (state == RankState::running || state == RankState::loading) put_slot_back(header, rank);
  if (rank.load_ticket != 0) {
    --header.loading_ranks;
    header.overtakings = 0;
  }
  rank.load_ticket = 0;
  rank.evict_wanted = 0;
  if (header.next_rank == index) header.next_rank = kNoIndex;
  abandon_critical_section(segment, index);
  header.resident_bytes -= rank.resident_bytes;
  header.base_bytes -= rank.base_bytes;
  rank.resident_bytes = rank.managed_bytes = rank.base_bytes = rank.pinned_bytes = rank.busy_until_ns = 0;
  rank.last_spell_us = rank.may_come_ahead = 0;
  rank.state = static_cast<uint32_t>(RankState::finished);
  ++header.finished_ranks;
  grant_free_slots(segment, nullptr);
  LocalRank::ring_loading_ranks(segment);
}

}  // namespace

void retire_rank(Segment& segment, uint32_t index) {
  const NodeLock lock(segment.header());
  retire(segment, index);
}

bool try_to_retire_rank(Segment& segment, uint32_t index) {
  const NodeLock lock(segment.header(), std::try_to_lock);
  if (lock.is_held()) retire(segment, index);
  return lock.is_held();
}

void set_sleeps_outside(Segment& segment, uint32_t index, bool sleeps) {
  RankRecord& rank = segment.rank(index);
  if ((rank.sleeps_outside != 0) == sleeps) return;
  const NodeLock lock(segment.header(), std::try_to_lock);
  if (!lock.is_held()) return;
  rank.sleeps_outside = sleeps ? 1 : 0;
  if (sleeps) LocalRank::ring_loading_ranks(segment);
}

void Scheduler::start_running() {
  running_since_ns_ = base::now_ns();
  running_cpu_ns_ = base::thread_cpu_ns();
  running_faults_ = major_faults();
}

// While a rank holds a slot its thread computes, waits for a page of unloaded memory, or waits for something else: what
// it reads, or the time. The kernel does not tell what a fault took. So the difference of elapsed and processor time is
// what loading cost, up to what that many faults take at most on a slow disk that others use too.
void Scheduler::account_running_time() {
  const uint64_t elapsed = base::now_ns() - running_since_ns_;
  const uint64_t cpu = base::thread_cpu_ns() - running_cpu_ns_;
  // Another thread may have begun.
  const auto faults = static_cast<uint64_t>(std::max(0L, major_faults() - running_faults_));
  const uint64_t load = std::min(faults * kLongestFaultNs, elapsed > cpu ? elapsed - cpu : 0);
  add(self_.record().statistics.load_ns, load);
  add(self_.record().statistics.compute_ns, elapsed - load);
  self_.record().last_spell_us = static_cast<uint32_t>(std::min<uint64_t>((elapsed - load) / 1000, UINT32_MAX));
  start_running();
}

void Scheduler::take_slot_or_get_in_line() {
  NodeLock lock(self_.header());
  RankRecord& me = self_.record();
  me.granted = 0;
  me.ready_since_ns = base::now_ns();
  me.state = static_cast<uint32_t>(RankState::ready);
  const bool misses_memory = me.resident_bytes != me.managed_bytes;
  me.may_come_ahead = misses_memory && self_.header().strategy != Strategy::lrlw ? 1 : 0;
  grant_free_slots(self_.segment(), &me);
  if (me.granted == 0) self_.ring_loading_ranks();  // there is one more rank that can be unloaded
}

// A rank that comes in ahead takes the place of one that could have stayed. Where all ranks take turns, this costs one
// transfer more in each round, and hides all others behind computing: it pays if computing takes longer than the one.
bool Scheduler::is_worth_evicting_for() const {
  uint64_t computing_ns = 0;
  for (uint32_t i = 0; i < self_.rank_count(); ++i) computing_ns += uint64_t{1000} * self_.peer(i).last_spell_us;
  return gains_from_coming_ahead_ && computing_ns > last_transfer_ns_;
}

// What is only read is read while it is used, by the kernel, and gains little from being there before.
bool Scheduler::rewrites_much_of_what_it_misses() const {
  const RankRecord& me = self_.record();
  const uint64_t missing = me.managed_bytes - std::min(me.managed_bytes.load(), me.resident_bytes.load());
  return missing != 0 && self_.hooks().rewritten_bytes != nullptr && self_.hooks().rewritten_bytes() >= missing / 4;
}

// Once for each slot: who then takes the room away needs it more.
bool Scheduler::get_ready_ahead() {
  RankRecord& me = self_.record();
  if (me.may_come_ahead == 0) return false;
  NodeLock lock(self_.header());
  if (me.granted != 0 || best_ready_rank(self_.segment()) != &me) return false;
  const bool is_worth_evicting = is_worth_evicting_for();
  const bool is_charged = ledger_.make_resident_ahead(is_worth_evicting);
  me.may_come_ahead = is_charged ? 0 : is_worth_evicting ? 2 : 1;
  self_.header().next_rank = is_charged ? kNoIndex : self_.index();
  return is_charged;
}

void Scheduler::load(bool is_ahead) {
  if (self_.hooks().load != nullptr) self_.hooks().load(is_ahead);
}

void Scheduler::acquire_slot() {
  RankRecord& me = self_.record();
  const WaitingTime time(me.statistics);
  is_acquiring_ = true;
  const uint64_t transfers_ns = me.statistics.load_ns + me.statistics.unload_ns + loads_ahead_ns_;
  last_transfer_ns_ = transfers_ns - std::exchange(transfers_before_ns_, transfers_ns);
  gains_from_coming_ahead_ = rewrites_much_of_what_it_misses();
  take_slot_or_get_in_line();
  while (me.granted == 0) {
    const uint32_t bell = me.doorbell;
    if (me.granted != 0) break;
    if (get_ready_ahead()) {
      const uint64_t begin_ns = base::now_ns();
      load(true);
      loads_ahead_ns_ += base::now_ns() - begin_ns;
      continue;
    }
    self_.attend_and_sleep(bell);
  }
  {
    NodeLock lock(self_.header());
    me.granted = 0;
    if (me.evict_wanted != 0) {  // too late: it runs now; who asked must look elsewhere
      me.evict_wanted = 0;
      self_.ring_loading_ranks();
    }
  }
  const bool was_unloaded = me.resident_bytes != me.managed_bytes;
  ledger_.make_resident(0);
  add(me.statistics.ready_ns, time.ns());
  if (was_unloaded) {
    const uint64_t begin_ns = base::now_ns();
    load(false);
    add(me.statistics.load_ns, base::now_ns() - begin_ns);
  }
  is_acquiring_ = false;
  has_slot_ = true;
  start_running();
  if (away_threads_ != 0) release_slot(RankState::blocked_receive);
}

void Scheduler::release_slot(RankState state) {
  account_running_time();
  NodeLock lock(self_.header());
  RankRecord& me = self_.record();
  SPILLWAY_CHECK(has_slot_ && self_.state() == RankState::running);
  has_slot_ = false;
  me.state = static_cast<uint32_t>(state);
  me.blocked_since_ns = base::now_ns();
  me.statistics.yields.store(me.statistics.yields + 1);
  if (self_.header().strategy == Strategy::araw) me.evict_wanted = me.resident_bytes.load();
  put_slot_back(self_.header(), me);
  grant_free_slots(self_.segment(), &me);
  self_.ring_loading_ranks();  // there is one more rank that can be unloaded
}

bool Scheduler::met_soon(const Condition& condition) {
  const RankRecord& me = self_.record();
  const SegmentHeader& header = self_.header();
  const bool has_rivals = header.slot_count < self_.rank_count();
  uint64_t limit = 0;  // 0: has not looked yet
  for (;;) {
    const uint64_t arrivals = me.arrivals;
    const uint32_t bell = me.doorbell;
    if (self_.hooks().take_news != nullptr) self_.hooks().take_news();
    if (condition.is_met()) return true;
    const bool has_processor = self_.has_processor_of_its_own();
    if (!has_processor && has_rivals) return false;
    if (limit == 0) limit = base::now_ns() + (has_rivals ? kSpinNs : kSpinWithoutRivalsNs);
    while (me.arrivals == arrivals && me.doorbell == bell) {
      if (base::now_ns() >= limit) return false;
      if (has_processor)
        __builtin_ia32_pause();
      else
        sched_yield();
    }
  }
}

void Scheduler::block_until(RankState state, const Condition& condition) {
  const WaitingTime time(self_.record().statistics);
  leave(state);
  sleep_until(condition);
  add(self_.record().statistics.wait_ns, time.ns());
  come_back();
}

void Scheduler::leave(RankState state) {
  self_.record().away_threads = ++away_threads_;
  if (has_slot_) release_slot(state);
}

void Scheduler::come_back() {
  self_.record().away_threads = --away_threads_;
  if (away_threads_ == 0 && !has_slot_ && !is_acquiring_) acquire_slot();
  if (away_threads_ == 0 || self_.state() != RankState::delegated || self_.record().library_calls != 0) return;
  // The thread has been in the library; those that are still away only sleep.
  NodeLock lock(self_.header());
  self_.record().state = static_cast<uint32_t>(RankState::blocked_receive);
  self_.ring_loading_ranks();
}

void Scheduler::make_resident(uint64_t extra_bytes) {
  has_slot_ = false;  // it is neither to be given up nor to be acquired by another thread meanwhile
  is_acquiring_ = true;
  ledger_.make_resident(extra_bytes);
  is_acquiring_ = false;
  has_slot_ = true;
  if (away_threads_ != 0) release_slot(RankState::blocked_receive);
}

void Scheduler::enter_library() {
  if (is_acquiring_) return;  // for another thread
  NodeLock lock(self_.header());
  self_.record().state = static_cast<uint32_t>(RankState::delegated);
  self_.record().evict_wanted = 0;
  self_.ring_loading_ranks();
}

// Threads of one rank that sleep at a time share its threshold: with more than one, every arrival wakes them.
void Scheduler::sleep_until(const Condition& condition) {
  RankRecord& me = self_.record();
  ++sleeping_threads_;
  for (;;) {
    const uint32_t bell = me.doorbell;
    if (self_.hooks().take_news != nullptr) self_.hooks().take_news();
    if (condition.is_met()) break;
    // Dekker with Mailbox::push: it links the cell, counts the arrival and then reads wake_at; this stores wake_at and
    // then reads both. A cell that came meanwhile is taken, however many are needed: its sender may wait for that.
    me.wake_at = taken_ + (sleeping_threads_ > 1 ? 1 : condition.needed(condition.needed_argument));
    if (me.arrivals >= me.wake_at || me.mailbox_head != kNoIndex) continue;
    self_.attend_and_sleep(bell);
  }
  end_of_sleep();
}

void Scheduler::end_of_sleep() {
  --sleeping_threads_;
  self_.record().wake_at = sleeping_threads_ == 0 ? 0 : taken_ + 1;
}

bool Scheduler::yield(uint64_t pause_ns) {
  RankRecord& me = self_.record();
  if (!has_slot_) {
    self_.attend_and_sleep(me.doorbell, pause_ns != 0 ? pause_ns : 1);
    return false;
  }
  bool someone_ready = false;
  for (uint32_t i = 0; i < self_.rank_count() && !someone_ready; ++i)
    someone_ready = static_cast<RankState>(self_.peer(i).state.load()) == RankState::ready;
  const bool someone_loads = self_.header().loading_ranks != 0;
  if (!someone_ready && !someone_loads && pause_ns == 0) return false;
  const uint64_t yields_before = me.statistics.yields;
  leave(RankState::blocked_receive);
  if (pause_ns != 0 || someone_loads) {
    const uint32_t bell = me.doorbell;
    ++sleeping_threads_;
    me.wake_at = taken_ + 1;
    if (me.arrivals < me.wake_at) self_.attend_and_sleep(bell, pause_ns != 0 ? pause_ns : 1000000);
    end_of_sleep();
  }
  come_back();
  return me.statistics.yields != yields_before && someone_ready;
}

}  // namespace spillway::node
