#include "mpi/runtime.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/error.h"
#include "base/system_calls.h"
#include "mpi/call_lock.h"
#include "mpi/transfer.h"
#include "node/attach_protocol.h"

namespace spillway::mpi {

constinit Runtime* internal::the_runtime = nullptr;

namespace {

using internal::the_runtime;

// ---- what the layers below call back ----

void take_news_hook() { the_runtime->take_news(); }

void note(node::RankStatistics& statistics, const memory::UnloadResult& result) {
  statistics.unloaded_bytes.fetch_add(result.written_bytes);
  statistics.loaded_bytes.fetch_add(result.loaded_bytes);
}

// A rank may be unloaded again before it gets the slot that it was charged for.
uint64_t yields_when_charged = ~uint64_t{0};

node::Unloaded unload_hook(uint64_t wanted_bytes) {
  the_runtime->update_pinned_bytes();
  const bool has_run = the_runtime->self.record().statistics.yields != yields_when_charged;
  the_runtime->small_heap.tidy();
  const memory::UnloadResult result = the_runtime->arena.unload(wanted_bytes, has_run);
  the_runtime->update_pinned_bytes();  // it may have turned out that more has to stay
  note(the_runtime->self.record().statistics, result);
  the_runtime->ledger.give_back(result.released_bytes, result.freed_bytes);
  if (!result.is_refused) return {result.released_bytes, node::ThreadStop::stopped};
  // Another thread may have asked for it since, and got it (spillway_unload()).
  const node::ThreadStop last = the_runtime->last_thread_stop();
  return {result.released_bytes, last == node::ThreadStop::stopped ? node::ThreadStop::not_now : last};
}

memory::ThreadsAre stop_threads_hook() {
  return the_runtime == nullptr ? memory::ThreadsAre::stopped : the_runtime->stop_other_threads();
}

bool is_used_by_others_hook(uint64_t begin, uint64_t end) {
  return the_runtime != nullptr && the_runtime->windows.is_in_use(begin, end);
}

void let_threads_go_hook() {
  if (the_runtime != nullptr) the_runtime->let_other_threads_go();
}

// Somebody needs the room more, or the rank has its slot: what it reads need not be loaded ahead any more.
bool must_stop_loading() {
  const node::RankRecord& record = the_runtime->self.record();
  return record.evict_wanted != 0 || record.granted != 0 || the_runtime->self.header().job_failed != 0;
}

// Not what the MPI library may be about to write to.
void load_hook(bool is_ahead) {
  const node::RankRecord& record = the_runtime->self.record();
  const node::Strategy strategy = the_runtime->self.header().strategy;
  if (record.pins != 0 || record.library_calls != 0 || strategy == node::Strategy::lrlw) return;
  const bool is_all = is_ahead || strategy != node::Strategy::automatic;
  the_runtime->arena.load_expected(is_all ? memory::Expected::used : memory::Expected::rewritten, must_stop_loading);
}

uint64_t rewritten_bytes_hook() { return the_runtime->arena.expected_bytes(); }

void all_charged_hook() {
  the_runtime->arena.mark_all_charged();
  yields_when_charged = the_runtime->self.record().statistics.yields;
}

uint64_t drop_spare_hook() {
  the_runtime->small_heap.tidy();
  return the_runtime->arena.drop_spare();
}

uint64_t uncount_untouched_hook(uint64_t bytes) { return the_runtime->arena.uncount_untouched(bytes); }

uint64_t trim_store_hook() { return the_runtime->store.trim(); }

uint64_t spill_store_hook(uint64_t wanted_bytes) { return the_runtime->store.spill(wanted_bytes); }

// In malloc, and then not in MPI: the program may use MPI in another thread meanwhile, or be inside the library itself.
thread_local bool is_making_room = false;

uint64_t progress_library_hook() {
  return !is_making_room && the_runtime->progress_library() ? the_runtime->next_turn_ns() : 0;
}

void give_back_hook(uint64_t resident_bytes, uint64_t managed_bytes) {
  if (the_runtime != nullptr) the_runtime->ledger.give_back(resident_bytes, managed_bytes);
}

uint64_t spare_limit_hook() { return the_runtime != nullptr ? the_runtime->ledger.spare_limit() : 0; }

void is_in_want_hook(memory::Want want) {
  if (the_runtime == nullptr) return;
  const uint32_t rank = the_runtime->self.world_rank();
  char text[768];  // dprintf() takes a lock of the C library, whose holder may wait for the arena's
  const int bytes =
      want == memory::Want::regions
          ? snprintf(text, sizeof text,
                     "spillway: rank %u has more allocations than Spillway can manage: what it allocates beyond stays "
                     "in memory\n"
                     "  Cause:  it has %u regions; an allocation of 256 KiB or more, or a large static array, is one "
                     "or several of them.\n"
                     "  Remedy: allocate fewer and longer pieces, or run with more ranks, so that each has fewer.\n",
                     rank, memory::Arena::kMaximumRegions)
          : snprintf(text, sizeof text,
                     "spillway: rank %u has more mappings than the kernel allows: what it allocates beyond is refused, "
                     "or stays in memory\n"
                     "  Cause:  mostly, the limit of a process's mappings (vm.max_map_count); else one of its data "
                     "(ulimit -d) or of what all may have (vm.overcommit_memory).\n"
                     "  Remedy: raise that limit on each host (sysctl -w vm.max_map_count=1000000), or name one spill "
                     "directory: with several, each 4 MiB need a mapping.\n",
                     rank);
  base::kernel::write_bytes(STDERR_FILENO, text, static_cast<uint64_t>(bytes));
}

bool fatal_hook(const char* message) { return the_runtime != nullptr && the_runtime->report_fatal(message); }

// Only the thread that uses MPI can sleep on the rank's behalf, and only while the rank holds its slot; others are
// charged without waiting. So is who finds the lock taken: in a callback of the MPI library it may hold a lock of the
// library's, which the other thread waits for.
void make_room_hook(uint64_t bytes) {
  if (the_runtime == nullptr) return;
  if (!CallLock::is_first_thread()) return the_runtime->ledger.charge(bytes);
  const bool lock_is_needed = !CallLock::is_held_by_this_thread();
  CallLock lock(false);
  if (lock_is_needed && !lock.try_take()) return the_runtime->ledger.charge(bytes);
  const bool was_making_room = is_making_room;
  is_making_room = was_making_room || lock_is_needed;
  if (the_runtime->scheduler.has_slot())
    the_runtime->scheduler.make_resident(bytes);
  else
    the_runtime->ledger.charge(bytes);
  is_making_room = was_making_room;
}

}  // namespace

Runtime::Runtime(node::Attachment attachment, int world_rank, const base::SpillDirectories& directories,
                 memory::Arena& managed, memory::SmallHeap& small_allocations)
    : attachment_(std::move(attachment)),
      self(attachment_.take_place(world_rank)),
      ledger(self),
      scheduler(self, ledger),
      critical_section(self, scheduler),
      store(self, ledger, attachment_.take_message_spills().data(), directories),
      mailbox(self),
      arena(managed),
      small_heap(small_allocations),
      static_data(managed, self, ledger),
      base_memory_(managed),
      other_threads_(self.header(), getenv(node::kParentVariable) != nullptr ? getenv(node::kParentVariable) : "") {
  node::RankRecord& record = self.record();
  record.pid = getpid();
  record.world_rank = world_rank;
  self.header().attached_ranks.fetch_add(1);
  communicators.start(world_rank);
  ledger.set_base(base_memory_.bytes());
}

void Runtime::update_pinned_bytes() {
  const uint64_t window_changes = windows.changes(), arena_changes = arena.changes();
  const bool depends_on_arena = windows.keeps_any() || arena.must_chunks_stay();
  if (window_changes == seen_window_changes_ && (arena_changes == seen_arena_changes_ || !depends_on_arena)) return;
  self.record().pinned_bytes = arena.bytes_used_by_others();
  seen_window_changes_ = window_changes;
  seen_arena_changes_ = arena_changes;
}

void Runtime::prepare_to_sleep() {
  store.release_buffer();
  if (self.record().pins != 0 || self.record().busy_until_ns != 0) arena.drop_spare();  // nobody could ask for it
  static_data.update_charge();
  update_pinned_bytes();
  ledger.set_base(base_memory_.bytes());
  turn_ns_ = kShortestTurnNs;
}

memory::ThreadsAre Runtime::stop_other_threads() {
  using memory::ThreadsAre;
  using node::ThreadStop;
  const ThreadStop stop = CallLock::does_another_thread_run() ? ThreadStop::not_now : other_threads_.stop();
  last_thread_stop_ = stop;
  if (stop == ThreadStop::stopped) return ThreadsAre::stopped;
  const bool is_allowed = stop != ThreadStop::not_allowed;
  return is_allowed || CallLock::several_threads_call() ? ThreadsAre::not_now : ThreadsAre::trusted;
}

void Runtime::other_thread_ended() {
  node::NodeLock lock(self.header());
  self.record().busy_until_ns = 0;
  self.ring_loading_ranks();
}

uint32_t Runtime::new_token() {
  if (++last_token_ == 0) ++last_token_;
  unacknowledged_.insert(last_token_);
  return last_token_;
}

void Runtime::accept(const message::Cell& cell) {
  if (cell.kind == message::CellKind::recall) return give_back(cell.sender, cell.token);
  if (cell.kind != message::CellKind::message) {
    unacknowledged_.erase(cell.token);
    if (cell.kind == message::CellKind::recalled) recalled_.insert(cell.token);
    return;
  }
  auto envelope = std::make_unique<message::Envelope>();
  envelope->source = cell.source;
  envelope->tag = cell.tag;
  envelope->context = cell.context;
  envelope->bytes = cell.bytes;
  envelope->payload = cell.payload;
  if (cell.payload.place == message::Place::none) envelope->inlined.assign(cell.inlined, cell.inlined + cell.bytes);
  envelope->sender = cell.sender;
  envelope->token = cell.token;
  message::PostedReceive* receive = matching.arrive(std::move(envelope));
  if (receive == nullptr) return;
  if (receive->matched->token != 0) {
    owed_.push_back(Word{receive->matched->sender, message::CellKind::acknowledge, receive->matched->token});
    receive->matched->token = 0;
  }
  if (receive->is_signal) make_signal(*receive);
  if (matching.is_unwanted(receive)) drop(*receive);
}

void Runtime::make_signal(message::PostedReceive& receive) {
  receive.is_signal = true;
  if (receive.matched == nullptr) return;
  store.release(receive.matched->payload);
  receive.matched->payload = message::Payload{};
}

void Runtime::drop(message::PostedReceive& receive) {
  if (receive.matched == nullptr) return matching.disown(&receive);
  store.release(receive.matched->payload);
  receive.matched.reset();
}

bool Runtime::take_back(uint32_t sender, uint32_t token) {
  const std::unique_ptr<message::Envelope> envelope = matching.take_back(sender, token);
  if (envelope != nullptr) store.release(envelope->payload);
  return envelope != nullptr;
}

// Of what has been matched the sender hears anyway.
void Runtime::give_back(uint32_t sender, uint32_t token) {
  if (take_back(sender, token)) owed_.push_back(Word{sender, message::CellKind::recalled, token});
}

void Runtime::recall(uint32_t to, uint32_t token) {
  if (to != self.world_rank()) return send_word(*this, to, message::CellKind::recall, token);
  take_news();
  if (!take_back(to, token)) return;
  unacknowledged_.erase(token);
  recalled_.insert(token);
  // Another thread may sleep for it.
  if (scheduler.sleeping_threads() != 0) node::LocalRank::ring(self.record());
}

void Runtime::take_news() {
  const uint64_t taken = mailbox.take_all([this](const message::Cell& cell) { accept(cell); });
  if (taken != 0) scheduler.count_taken(taken);
  // What this thread has taken may be what another one sleeps for.
  if (taken != 0 && scheduler.sleeping_threads() != 0 && CallLock::several_threads_call())
    node::LocalRank::ring(self.record());
  if (!is_saying_) say_what_is_owed();
}

// A word takes a cell, and when none is free its sender takes news while it waits for one. So none is sent
// from within Mailbox::take_all: the cells that it holds may be all there are, and news taken in the middle of it would
// come out of order.
void Runtime::say_what_is_owed() {
  is_saying_ = true;
  while (!owed_.empty()) {
    const Word next = owed_.back();
    owed_.pop_back();
    send_word(*this, next.sender, next.kind, next.token);
  }
  is_saying_ = false;
}

// A call that looks for a message makes the library move on everything that it has in hand. On MPI_COMM_WORLD: for
// MPI_COMM_SELF, MPICH looks no further than this process.
bool Runtime::progress_library() {
  if (finalized_ || !has_used_library_) return false;
  // Before the look, so that a rank that begins after it sees this one rest, and rings it.
  self.record().rests = 1;
  if (self.record().pins == 0 && !windows.has_any() && !is_library_in_use()) return false;
  self.record().rests = 0;
  int flag = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  return true;
}

bool Runtime::is_library_in_use() const {
  if (self.header().nodes_in_library != 0) return true;
  for (uint32_t i = 0; i < self.rank_count(); ++i) {
    const node::RankRecord& peer = self.peer(i);
    const bool is_finished = static_cast<node::RankState>(peer.state.load()) == node::RankState::finished;
    if (!is_finished && (peer.library_calls != 0 || peer.pins != 0)) return true;
  }
  return false;
}

// That the rank is in the library, or has something in flight there, stands in its record already.
void Runtime::needs_others_in_library() {
  has_used_library_ = true;
  for (uint32_t i = 0; i < self.rank_count(); ++i) {
    node::RankRecord& peer = self.peer(i);
    if (i != self.index() && peer.rests != 0 && peer.rests.exchange(0) != 0) node::LocalRank::ring(peer);
  }
  tell_other_nodes_of_library();
}

// The courier looks after it from then on.
void Runtime::tell_other_nodes_of_library() {
  node::SegmentHeader& header = self.header();
  if (header.node_count == 1 || header.is_library_use_known.exchange(1) != 0) return;
  message::Cell cell{};
  cell.kind = message::CellKind::in_library;
  cell.sender = self.world_rank();
  mailbox.push_to_courier(cell);
}

// Whoever needs this rank's part mostly needs it soon after it went to sleep, or is in the library now and waits. Of a
// rank that has nothing open itself, little more than what is left of earlier calls can be needed.
uint64_t Runtime::next_turn_ns() {
  const bool has_open = self.record().pins != 0 || windows.has_any();
  turn_ns_ = std::min(2 * turn_ns_, has_open ? kLongestTurnNs : kLongestIdleTurnNs);
  if (!has_open || turn_ns_ <= kShortestTurnNs) return turn_ns_;
  const uint32_t ranks = self.rank_count();
  const uint64_t hurried = kShortestTurnNs * (1 + ranks / self.header().cpu_count);
  if (hurried >= turn_ns_) return turn_ns_;
  if (self.header().nodes_in_library != 0) return hurried;
  for (uint32_t i = 0; i < ranks; ++i)
    if (self.peer(i).library_calls != 0) return hurried;
  return turn_ns_;
}

void Runtime::unload_again() {
  if (self.record().pins != 0 || self.record().library_calls != 0) return;
  if (self.record().resident_bytes == self.record().managed_bytes) return;
  const uint64_t begin = base::now_ns();
  note(self.record().statistics, arena.unload_again());
  self.record().statistics.unload_ns.fetch_add(base::now_ns() - begin);
}

void Runtime::after_failed_test() {
  static_data.update_charge();
  progress_library();
  scheduler.yield(0);
}

void Runtime::finalize() {
  take_news();  // what nobody wants goes
  requests.release_handles();
  arena.check_what_was_loaded();
  finalized_ = true;
  attachment_.report_finalized();
}

void Runtime::leave_finalize() { attachment_.report_left_finalize(); }

void Runtime::retire() {
  arena.check_what_was_loaded();  // since finalize(), too
  scheduler.account_running_time();
  node::retire_rank(self.segment(), self.index());
}

void forget_runtime() {
  if (the_runtime != nullptr) the_runtime->arena.detach();
  the_runtime = nullptr;
}

Runtime* active_runtime() { return the_runtime != nullptr && !the_runtime->is_finalized() ? the_runtime : nullptr; }

void start_runtime(memory::Arena& arena, memory::SmallHeap& small_heap) {
  int rank = 0, size = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  auto attachment = node::Attachment::connect(rank, size);
  if (!attachment) return;
  const base::SpillDirectories directories = attachment->spill_directories();
  the_runtime = new Runtime(std::move(*attachment), rank, directories, arena, small_heap);
  int thread_level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&thread_level);
  CallLock::start(thread_level);
  base::set_fatal_sink(fatal_hook);
  library::check_version();
  the_runtime->self.set_hooks(node::RankHooks{
      take_news_hook, unload_hook, all_charged_hook, load_hook, rewritten_bytes_hook, drop_spare_hook, trim_store_hook,
      spill_store_hook, CallLock::before_sleep, CallLock::after_sleep, progress_library_hook, uncount_untouched_hook});
  arena.control_threads(memory::ThreadControl{stop_threads_hook, let_threads_go_hook});
  arena.respect(is_used_by_others_hook);
  arena.heed(the_runtime->overwrites);
  if (the_runtime->self.header().checksums_offset != 0) arena.keep_checksums();
  // What ranks have little of lies in their file's first stripes: each rank's are in another directory.
  const uint64_t already_allocated =
      arena.attach(memory::MemoryAccount{make_room_hook, give_back_hook, spare_limit_hook, is_in_want_hook},
                   directories.beginning_with(the_runtime->self.index()));
  the_runtime->ledger.adopt(already_allocated, already_allocated);
  the_runtime->static_data.adopt(the_runtime->self.header().minimum_managed_bytes);
  const CallLock lock;
  the_runtime->scheduler.acquire_slot();
}

}  // namespace spillway::mpi
