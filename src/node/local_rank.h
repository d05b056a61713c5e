// The calling rank's own place in the node's segment, and how ranks wake each other.
//
// A rank sleeps on its doorbell only inside Scheduler and Ledger. Whenever it is rung there, it attends to what others
// want of it (take the news from its mailbox, make room) and then looks whether it can go on. So a rank that sleeps is
// always of service, and a rank that computes is never disturbed.
#pragma once

#include <cstdint>

#include "node/attach_protocol.h"
#include "node/segment.h"

namespace spillway::node {

// What came of unloading. The bytes given up are at least as many as were wanted, where there are as many and the
// rank's other threads could be stopped.
struct Unloaded {
  uint64_t bytes = 0;
  ThreadStop threads = ThreadStop::stopped;
};

// What the layers above do for a sleeping rank. Set once, on attach; called in the sleeping thread, without locks, and
// but for load(false) without a slot.
struct RankHooks {
  void (*take_news)() = nullptr;  // empty the mailbox
  Unloaded (*unload)(uint64_t wanted_bytes) = nullptr;
  void (*all_charged)() = nullptr;  // the ledger has charged the rank for all its memory
  // After that: bring in what the rank will need all of. Ahead of its slot, or while it has it.
  void (*load)(bool is_ahead) = nullptr;
  uint64_t (*rewritten_bytes)() = nullptr;  // of what it misses, those that it rewrote when it last ran
  uint64_t (*drop_spare)() = nullptr;       // give memory up that is only kept for reuse; returns its bytes
  uint64_t (*trim_store)() = nullptr;       // give unused pages of the message store back; returns their bytes
  uint64_t (*spill_store)(uint64_t wanted_bytes) = nullptr;  // the same, and move messages that wait to storage
  // Around each sleep: other threads of the rank may be in its MPI layer meanwhile.
  void (*before_sleep)() = nullptr;
  void (*after_sleep)() = nullptr;
  // Moves on what the rank has begun in the MPI library. Returns the longest time to sleep before the next turn, or 0
  // when nothing is open.
  uint64_t (*progress_library)() = nullptr;
  // The rank does not fit with all that it has: leaves so much out of the account as it has never touched; returns the
  // bytes.
  uint64_t (*uncount_untouched)(uint64_t wanted_bytes) = nullptr;
};

class LocalRank {
 public:
  LocalRank(Segment segment, uint32_t index) : segment_(std::move(segment)), index_(index) {}

  Segment& segment() { return segment_; }
  SegmentHeader& header() const { return segment_.header(); }
  RankRecord& record() const { return segment_.rank(index_); }
  RankRecord& peer(uint32_t index) const { return segment_.rank(index); }
  uint32_t index() const { return index_; }
  uint32_t world_rank() const { return static_cast<uint32_t>(record().world_rank.load()); }
  RankPlace place_of(uint32_t world_rank) const { return segment_.places()[world_rank]; }
  bool is_local(RankPlace place) const { return place.node == header().node_index; }
  uint32_t rank_count() const { return header().rank_count; }
  // Where all ranks may run at a time.
  bool has_processor_of_its_own() const { return header().cpu_count >= rank_count(); }
  RankState state() const { return static_cast<RankState>(record().state.load()); }

  void set_hooks(const RankHooks& hooks) { hooks_ = hooks; }
  const RankHooks& hooks() const { return hooks_; }

  // Wakes `rank` if it sleeps, so that it looks at its record and its mailbox.
  static void ring(RankRecord& rank);

  // The same for a rank of this node or its courier, which sleeps on a descriptor (an eventfd) together with its
  // connections.
  void ring_any(RankRecord& receiver) const;
  void set_courier_bell(int descriptor) { courier_bell_ = descriptor; }

  // Rings every rank that waits for room; when none does, the one that is to get room ahead of its slot, if there may
  // be enough. [lock]
  static void ring_loading_ranks(Segment& segment);
  void ring_loading_ranks() { ring_loading_ranks(segment_); }

  // One turn of a sleeping loop: attends to what others want, then sleeps unless the doorbell was rung since `bell` was
  // read.
  void attend_and_sleep(uint32_t bell, uint64_t timeout_ns = 0);

 private:
  static void ring_next_rank(Segment& segment);
  void make_room_for_others();
  void rest_from_requests(ThreadStop threads);

  Segment segment_;
  uint32_t index_;
  int courier_bell_ = -1;
  RankHooks hooks_;
  uint64_t rest_ns_ = 0;  // the last one, while its threads cannot be stopped
};

}  // namespace spillway::node
