// Layout of the node's shared memory segment: the contract between the ranks of a node and its node agent.
//
// The segment is one memfd. The agent (src/launch/local_node.cpp) makes it before the first rank starts, and hands the
// descriptor to each rank when the rank attaches, so the segment never has a name and nothing can be left behind.
// It holds offsets and indices, never pointers. Every process that maps it was built from this header; `version`
// is checked on attach, and tests/unit freezes sizes and offsets: change them together with kSegmentVersion.
//
//   SegmentHeader | RankPlace[world_size] | RankRecord[rank_count + 1] | Cell[cell_count] | memory pool's tables |
//   spill pool's tables | chunks | checksums of the message spill file
//
// Fields between ranks are atomics, or are guarded by `SegmentHeader::lock` where the comment says [lock].
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace spillway::node {

inline constexpr uint32_t kSegmentMagic = 0x53504c57;  // "SPLW"
inline constexpr uint32_t kSegmentVersion = 12;
inline constexpr uint32_t kNoIndex = 0xffffffffu;

// A rank holds a slot in `running` and, of those that wait for room, in `loading`. `delegated` is a rank inside a call
// of the MPI library that gathers several ranks: all of them are in it at once, so none of them needs a slot.
enum class RankState : uint32_t {
  absent,              // has not attached (has not called MPI_Init)
  running,             // holds a slot
  ready,               // can go on, waits for a slot
  blocked_receive,     // waits for a message, an acknowledgement or the critical section
  blocked_collective,  // waits inside a collective operation
  loading,             // waits for room in the budget; keeps its slot
  delegated,           // inside a collective call of the MPI library
  finished,            // has called MPI_Finalize
};

// What moves between memory and storage, and when (SBMA 3). `araw`: a rank is unloaded whenever it blocks, and what it
// used last is loaded before it goes on. `arlw`: it is unloaded when others need the room. `lrlw`: and loaded when it
// touches its memory. `automatic`: as arlw what it rewrites, as lrlw what it reads; ahead of its slot, both.
enum class Strategy : uint32_t { automatic, araw, arlw, lrlw };

// What a rank adds up while it runs. Only the rank itself writes; times in nanoseconds.
struct RankStatistics {
  std::atomic<uint64_t> compute_ns;      // held a slot, outside of load and unload
  std::atomic<uint64_t> wait_ns;         // blocked, outside of unload
  std::atomic<uint64_t> ready_ns;        // could go on, but had no slot or no room; outside of unload
  std::atomic<uint64_t> load_ns;         // held a slot, had pages read, and did not run
  std::atomic<uint64_t> unload_ns;       // writing memory out
  std::atomic<uint64_t> loaded_bytes;    // of unloaded memory, brought in again
  std::atomic<uint64_t> unloaded_bytes;  // of memory, written to the spill file
  std::atomic<uint64_t> spilled_bytes;   // of messages, written to the spill file for want of memory
  std::atomic<uint64_t> sent_messages;
  std::atomic<uint64_t> sent_bytes;
  std::atomic<uint64_t> yields;   // times the rank passed its slot on
  std::atomic<uint64_t> unloads;  // times it was asked to make room
};

// Where a rank of MPI_COMM_WORLD runs: on which node of the job, and which of the node's ranks it is.
struct RankPlace {
  uint32_t node;
  uint32_t index;
};

// One per local rank, and one behind them for the courier, which has a mailbox and a doorbell like a rank, but is never
// counted or scheduled as one. Alignment keeps the doorbells of two ranks out of one cache line.
struct alignas(128) RankRecord {
  std::atomic<uint32_t> state;     // RankState. Set by the rank and, on a grant, by whoever gives it the slot. [lock]
  std::atomic<int32_t> pid;        // set on attach; 0 before
  std::atomic<uint32_t> doorbell;  // futex: incremented by whoever has news for the rank
  std::atomic<uint32_t> granted;   // 1 when a slot was given to a ready rank [lock]
  std::atomic<uint64_t> evict_wanted;      // bytes that the rank is asked to unload; 0 when nobody asks [lock]
  std::atomic<uint64_t> ready_since_ns;    // when it became ready [lock]
  std::atomic<uint64_t> blocked_since_ns;  // when it last blocked [lock]
  std::atomic<uint64_t> load_ticket;       // order of arrival among those that wait for room; 0 when it does not [lock]

  // Ledger. All in bytes. [lock]
  std::atomic<uint64_t> managed_bytes;   // allocated in storage-backed memory
  std::atomic<uint64_t> resident_bytes;  // of those, charged to the budget
  std::atomic<uint64_t> base_bytes;      // everything else that is resident: program, libraries, small variables
  std::atomic<uint32_t> pins;            // operations of the MPI library in flight on this rank's memory: no unload.
                                         // Of the courier: messages in memory that come in, and cannot be moved yet
  std::atomic<int32_t> world_rank;

  // Mailbox: a stack of cells that senders push to and that the owner takes whole.
  std::atomic<uint32_t> mailbox_head;  // newest cell, or kNoIndex
  std::atomic<uint32_t> passed_over;   // grants that went to others while this rank was ready [lock]
  std::atomic<uint64_t> arrivals;      // cells ever pushed
  std::atomic<uint64_t> wake_at;       // the owner sleeps until arrivals >= wake_at; 0: do not ring

  RankStatistics statistics;
  char waits_for[128];  // what the rank last blocked on, as text; written by the rank before it blocks

  std::atomic<uint64_t> critical_ticket;  // order of arrival at the critical section; 0 when it does not wait [lock]
  std::atomic<uint32_t> has_lent;  // 1 while the rank runs, or sleeps outside of MPI, but its slot is another's [lock]
  std::atomic<uint32_t> library_calls;  // threads of the rank that are in a call of the MPI library that may wait
  std::atomic<uint32_t> rests;  // 1: to be rung by a rank that begins to wait in the MPI library (mpi/runtime.h)
  std::atomic<uint32_t> sleeps_outside;  // 1: it has a slot and sleeps outside of MPI, as the agent saw last [lock]
  std::atomic<uint32_t> other_threads;   // that live and have called MPI, beside the first one (MPI_THREAD_MULTIPLE)
  std::atomic<uint32_t> away_threads;    // that wait in MPI, or are in a call of the MPI library that may wait
  std::atomic<uint64_t> pinned_bytes;    // of resident_bytes, those that stay whatever is asked: windows
  std::atomic<uint64_t> busy_until_ns;   // its threads could not be stopped: not to be asked for room until then
  std::atomic<uint32_t> last_spell_us;   // that it has computed, when it had its slot last
  // Of a rank that is ready and misses memory, until it has been charged ahead: 1, or 2 if it may unload blocked ones
  // for that. [lock]
  std::atomic<uint32_t> may_come_ahead;

  // The operation that the rank is about to contribute to and may combine for its node; context 0: none. [lock]
  std::atomic<uint64_t> combining_context;
  std::atomic<int32_t> combining_tag;
};

struct SegmentHeader {
  uint32_t magic;
  uint32_t version;
  uint64_t segment_bytes;

  // Set by the agent before any rank attaches; constant.
  uint32_t rank_count;  // ranks of this node
  uint32_t slot_count;
  uint32_t world_size;  // ranks of the job
  uint32_t node_count;
  uint32_t node_index;             // of this node
  uint32_t cpu_count;              // that the job may use
  uint64_t budget_bytes;           // of the node: storage-backed memory + message store + base memory beyond the slack
  uint64_t minimum_managed_bytes;  // smaller static variables stay in memory
  Strategy strategy;
  uint64_t places_offset;
  uint64_t ranks_offset;
  uint64_t cells_offset;
  uint64_t cell_count;
  uint64_t memory_pool_offset;  // tables of the message store's memory chunks
  uint64_t spill_pool_offset;   // tables of the message store's file chunks
  uint64_t chunks_offset;       // the memory chunks themselves
  uint64_t checksums_offset;    // of the pages of the message spill file; 0: of no spill file, ranks' own included
  uint64_t memory_chunk_count;
  uint64_t spill_chunk_count;

  // The one lock of the node: robust, shared between processes. Held for microseconds, never while sleeping.
  pthread_mutex_t lock;

  std::atomic<uint32_t> free_slots;        // [lock]
  std::atomic<uint32_t> attached_ranks;    // [lock]
  std::atomic<uint32_t> finished_ranks;    // [lock]
  std::atomic<uint32_t> job_failed;        // set by the agent when the job must end
  std::atomic<uint64_t> next_load_ticket;  // [lock]
  std::atomic<uint64_t> store_bytes;       // message store's resident chunks, charged to the budget [lock]
  std::atomic<uint64_t> resident_bytes;    // sum over ranks of resident_bytes [lock]
  std::atomic<uint64_t> base_bytes;        // sum over ranks of base_bytes [lock]
  std::atomic<uint64_t> peak_bytes;        // maximum ever of what the ledger counts [lock]
  std::atomic<uint64_t> free_cells;        // head of the free list of cells: tag << 32 | index
  std::atomic<uint64_t> used_cells;        // cells taken so far from the never-used part
  std::atomic<uint32_t> loading_ranks;     // ranks with a load ticket [lock]
  std::atomic<uint32_t> overtakings;       // times that room went to a rank while another waited longer [lock]

  std::atomic<uint64_t> next_critical_ticket;  // [lock]
  std::atomic<uint32_t> critical_rank;         // local rank inside the critical section, or kNoIndex [lock]
  std::atomic<uint32_t> next_rank;             // that gets room before it gets its slot, or kNoIndex [lock]

  // Between nodes: whether those of the others know that ranks of this one are in the MPI library, and how many other
  // nodes have such ranks (courier/library_watch.h).
  std::atomic<uint32_t> is_library_use_known;
  std::atomic<uint32_t> nodes_in_library;
};

// One envelope, with the payload inside when it is small. Cells are passed between ranks through mailboxes.
inline constexpr uint32_t kCellBytes = 256;
inline constexpr uint32_t kInlineBytes = 196;

// Chunks of the message store: in memory, and in the node's message spill file.
inline constexpr uint64_t kMemoryChunkBytes = 8192;
inline constexpr uint64_t kSpillChunkBytes = 262144;

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

}  // namespace spillway::node
