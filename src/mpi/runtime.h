// Everything that one rank has of Spillway while it takes part in a job; the one global of the preloaded library.
//
// Used by one thread at a time, the one that holds the CallLock.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <unordered_set>
#include <vector>

#include "memory/arena.h"
#include "memory/overwrites.h"
#include "memory/small_heap.h"
#include "message/mailbox.h"
#include "message/matching.h"
#include "message/message_store.h"
#include "mpi/base_memory.h"
#include "mpi/communicator.h"
#include "mpi/held_operations.h"
#include "mpi/pinned_ranges.h"
#include "mpi/request.h"
#include "mpi/static_data.h"
#include "mpi/windows.h"
#include "node/attachment.h"
#include "node/critical_section.h"
#include "node/ledger.h"
#include "node/other_threads.h"
#include "node/scheduler.h"

namespace spillway::mpi {

class Runtime {
 public:
  // Joins the job: takes its place from `attachment`. The rank has no slot yet.
  Runtime(node::Attachment attachment, int world_rank, const base::SpillDirectories& directories, memory::Arena& arena,
          memory::SmallHeap& small_heap);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  const char* spill_directories() const { return attachment_.spill_directory_list(); }

 private:
  node::Attachment attachment_;  // before `self`, which takes its place out of it

 public:
  node::LocalRank self;
  node::Ledger ledger;
  node::Scheduler scheduler;
  node::CriticalSection critical_section;
  bool has_combining_turn = false;  // while a thread begins a collective operation that has one
  message::MessageStore store;
  message::Mailbox mailbox;
  message::MatchingEngine matching;
  CommunicatorTable communicators;
  RequestTable requests;
  HeldOperations held_operations;
  std::unordered_set<uint64_t> busy_files;  // handles of files that a split operation is open on
  memory::Arena& arena;
  memory::SmallHeap& small_heap;
  memory::Overwrites overwrites;
  Windows windows;
  PinnedRanges pinned{windows};
  StaticData static_data;

  // Takes what has arrived from the mailbox: matches messages, notes acknowledgements. Touches no user memory.
  void take_news();

  // Of the message that the receive is matched with, now or later, nobody wants the payload.
  void make_signal(message::PostedReceive& receive);
  // Nor the message itself. The receive need not live.
  void drop(message::PostedReceive& receive);

  // Sleeps without a slot until `met`; `describe(text, size)` says what for (for the deadlock report) and is called
  // only if the rank has to sleep. `needed` is the least number of messages that must still arrive.
  template <typename Met, typename Needed, typename Describe>
  void block_until(node::RankState state, Met met, Needed needed, Describe describe) {
    take_news();
    if (met()) return;
    scheduler.block_until(state, met, needed, [&] {
      describe(self.record().waits_for, sizeof self.record().waits_for);
      prepare_to_sleep();
    });
  }

  // Moves on what the rank has begun in the MPI library, while others may wait there for its part, whatever this rank
  // waits for. That may be long after its own calls have returned: the library may have had no room for the end of what
  // they sent. Returns false when nobody waits for this rank.
  bool progress_library();

  // Around a call of the MPI library that may wait for others: these play their parts meanwhile.
  void begin_library_call() {
    self.record().library_calls.fetch_add(1);
    needs_others_in_library();
  }
  void end_library_call() { self.record().library_calls.fetch_sub(1); }

  // The rank may have been unloaded before it called the library, which has then loaded what it needed without being
  // charged: what many ranks hold in that way would not be counted by anybody until each of them runs again.
  void unload_again();

  // How long the rank may sleep until it does that again.
  uint64_t next_turn_ns();

  // A program that tests in a loop must not keep others from running, who may be the ones it waits for.
  void after_failed_test();

  // A number that names a synchronous send until it is acknowledged.
  uint32_t new_token();
  bool is_acknowledged(uint32_t token) const { return !unacknowledged_.contains(token); }
  // Asks rank `to` for the message of a synchronous send, which it gives back unless it has received it. One to this
  // rank itself is decided at once, as programs expect.
  void recall(uint32_t to, uint32_t token);

  // Whether the send was taken back instead, as the program has cancelled it. To be asked once.
  bool take_recalled(uint32_t token) { return recalled_.erase(token) != 0; }

  // Memory of the rank is in use by the MPI library, or no longer.
  void pin() {
    if (self.record().pins.fetch_add(1) == 0) needs_others_in_library();
  }
  void unpin() { self.record().pins.fetch_sub(1); }

  // Before and after memory is unloaded. False when a thread that calls MPI, too, computes, or cannot be stopped. Where
  // the system lets none be stopped and only one thread calls MPI, the others run on.
  memory::ThreadsAre stop_other_threads();
  void let_other_threads_go() { other_threads_.let_go(); }
  node::ThreadStop last_thread_stop() const { return last_thread_stop_; }
  // From any thread: one of them has ended, so that the rank may be asked for room again.
  void other_thread_ended();

  // The rank takes no part in MPI any more (MPI_Finalize has been called), but keeps its slot until the process ends.
  void finalize();
  // The MPI library has finalized, too.
  void leave_finalize();
  bool is_finalized() const { return finalized_; }

  // The process ends: what it has read is checked; its slot and its share of the budget are free for others.
  void retire();

  // Tells the agent why this rank ends the job.
  bool report_fatal(const char* message, int exit_status = 1) { return attachment_.report_fatal(message, exit_status); }

  // What of the rank's memory windows keep in place has to stand in its record whenever it may be asked for room.
  void update_pinned_bytes();

  // Gives back what only a running rank needs, and brings the ledger's figure of what the rank has besides
  // storage-backed memory up to date.
  void prepare_to_sleep();

 private:
  // What is still to be said to `sender` of its synchronous send.
  struct Word {
    uint32_t sender;
    message::CellKind kind;
    uint32_t token;
  };

  void accept(const message::Cell& cell);
  bool take_back(uint32_t sender, uint32_t token);
  void give_back(uint32_t sender, uint32_t token);
  void say_what_is_owed();
  void needs_others_in_library();
  void tell_other_nodes_of_library();
  bool is_library_in_use() const;

  std::vector<Word> owed_;
  bool is_saying_ = false;
  std::unordered_set<uint32_t> unacknowledged_;
  std::unordered_set<uint32_t> recalled_;
  uint32_t last_token_ = 0;
  uint64_t seen_window_changes_ = 0;  // when pinned_bytes was last added up
  uint64_t seen_arena_changes_ = 0;
  BaseMemory base_memory_;
  node::OtherThreads other_threads_;
  std::atomic<node::ThreadStop> last_thread_stop_ = node::ThreadStop::stopped;
  static constexpr uint64_t kShortestTurnNs = 50000;
  static constexpr uint64_t kLongestTurnNs = 1000000;
  static constexpr uint64_t kLongestIdleTurnNs = 10000000;  // for a rank that has nothing in flight itself
  uint64_t turn_ns_ = kShortestTurnNs;
  bool has_used_library_ = false;  // for more than what concerns this rank alone
  bool finalized_ = false;
};

namespace internal {
extern constinit Runtime* the_runtime;
}

// The rank's runtime, or nullptr: before MPI_Init, in forked children, or when the program was not started by `spillway
// run`.
inline Runtime* runtime() { return internal::the_runtime; }

// The same while MPI calls are Spillway's: not before MPI_Init and not after MPI_Finalize.
Runtime* active_runtime();

// Joins the job that this process was started for, if any. To be called once, after PMPI_Init.
void start_runtime(memory::Arena& arena, memory::SmallHeap& small_heap);

// For a forked child.
void forget_runtime();

}  // namespace spillway::mpi
