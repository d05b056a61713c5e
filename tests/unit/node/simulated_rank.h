// A rank whose memory and messages are numbers: the real ledger and scheduler, and a model of what stands above them.
//
// Its "memory" is a list of sizes that are in memory or not; its "mailbox" is the count of arrivals alone. Both keep to
// the rules of arena.h and mailbox.h, so whatever the node layer promises them can be tested without any MPI and
// without I/O.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "base/error.h"
#include "node/ledger.h"
#include "node/scheduler.h"

namespace spillway::node {

class SimulatedRank {
 public:
  SimulatedRank(Segment segment, uint32_t index)
      : self(std::move(segment), index), ledger(self), scheduler(self, ledger) {
    self.set_hooks(RankHooks{[] { current->take_news(); }, [](uint64_t wanted) { return current->unload(wanted); },
                             [] { current->set_all_resident(); }});
    RankHooks hooks = self.hooks();
    hooks.load = [](bool is_ahead) { ++(is_ahead ? current->loads_ahead : current->loads); };
    hooks.rewritten_bytes = [] { return current->rewritten_bytes; };
    hooks.uncount_untouched = [](uint64_t wanted) { return current->uncount_untouched(wanted); };
    self.set_hooks(hooks);
    current = this;
  }
  SimulatedRank(const SimulatedRank&) = delete;
  SimulatedRank& operator=(const SimulatedRank&) = delete;

  // Hooks have no argument: they act on the rank of the thread that sleeps. Call this first in a thread other than the
  // constructing one.
  void use_in_this_thread() { current = this; }

  void allocate(uint64_t bytes) {
    ledger.make_resident(bytes);
    regions_.push_back(Region{bytes, true});
  }

  // Static data that it never touches.
  void adopt_untouched(uint64_t bytes) {
    ledger.adopt(0, bytes);
    untouched_.bytes += bytes;
  }

  void free_any(uint64_t choice) {
    if (regions_.empty()) return;
    const size_t i = choice % regions_.size();
    const Region region = regions_[i];
    regions_.erase(regions_.begin() + static_cast<std::ptrdiff_t>(i));
    ledger.give_back(region.is_resident ? region.bytes : 0, region.bytes);
  }

  void free_all() {
    while (!regions_.empty()) free_any(0);
    uncount_untouched(untouched_.bytes);
  }

  uint64_t resident_bytes() const {
    uint64_t sum = 0;
    for (const Region& region : regions_) sum += region.is_resident ? region.bytes : 0;
    return sum;
  }

  // News for `to`, as Mailbox::push gives them.
  void notify(uint32_t to) {
    RankRecord& receiver = self.peer(to);
    const uint64_t arrivals = receiver.arrivals.fetch_add(1) + 1;
    const uint64_t wake_at = receiver.wake_at;
    if (wake_at != 0 && arrivals >= wake_at) LocalRank::ring(receiver);
  }

  // Blocks until `count` news in all have come.
  void wait_for_news(uint64_t count, RankState state = RankState::blocked_receive) {
    scheduler.block_until(
        state, [&] { return taken_ >= count; }, [&] { return count > taken_ ? count - taken_ : 1; });
  }

  LocalRank self;
  Ledger ledger;
  Scheduler scheduler;
  std::atomic<uint32_t> loads_ahead = 0, loads = 0;
  bool may_unload = true;         // false: a rank that never gives anything up when asked
  useconds_t unload_time_us = 0;  // what giving up costs
  uint64_t rewritten_bytes = ~uint64_t{0};
  uint32_t refusals = 0;  // times that its threads cannot be stopped, from now on
  ThreadStop refusal = ThreadStop::not_now;

 private:
  struct Region {
    uint64_t bytes;
    bool is_resident;
  };

  void take_news() {
    const uint64_t arrivals = self.record().arrivals;
    scheduler.count_taken(arrivals - taken_);
    taken_ = arrivals;
  }

  Unloaded unload(uint64_t wanted) {
    if (refusals != 0) {
      --refusals;
      return {0, refusal};
    }
    uint64_t released = 0;
    if (unload_time_us != 0) usleep(unload_time_us);
    for (Region& region : regions_) {
      if (!may_unload || released >= wanted) break;
      if (!region.is_resident) continue;
      region.is_resident = false;
      released += region.bytes;
    }
    ledger.give_back(released, 0);
    return {released, ThreadStop::stopped};
  }

  uint64_t uncount_untouched(uint64_t wanted) {
    const uint64_t bytes = wanted < untouched_.bytes ? wanted : untouched_.bytes;
    untouched_.bytes -= bytes;
    ledger.give_back(untouched_.is_resident ? bytes : 0, bytes);
    return bytes;
  }

  void set_all_resident() {
    untouched_.is_resident = true;
    for (Region& region : regions_) region.is_resident = true;
  }

  static inline thread_local SimulatedRank* current = nullptr;

  std::vector<Region> regions_;
  Region untouched_{0, false};
  uint64_t taken_ = 0;
};

// Memory that a test shares with the processes that it forks.
template <typename T>
T& shared_with_children() {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  SPILLWAY_CHECK(memory != MAP_FAILED);
  return *new (memory) T{};
}

}  // namespace spillway::node
