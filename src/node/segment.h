// The node's shared segment: made by the node agent, mapped by every rank of the node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "node/segment_layout.h"

namespace spillway::node {

struct SegmentConfig {
  uint32_t rank_count = 1;
  uint32_t slot_count = 1;
  uint64_t budget_bytes = 0;
  // Smaller static variables stay in memory: one mapping each would cost more than their unloading gains.
  uint64_t minimum_managed_bytes = 256 << 10;
  uint32_t cpu_count = 1;
  Strategy strategy = Strategy::automatic;
  bool keeps_checksums = true;
  uint64_t spill_capacity_bytes = 1ull << 40;  // most that the message spill file may ever hold
  // Of a job on several nodes: which one this is, and the place of each rank of the job. Without places, the node's
  // ranks are all there are.
  uint32_t node_count = 1;
  uint32_t node_index = 0;
  std::vector<RankPlace> places{};
};

// Tables of one pool of chunks of the message store; message/chunk_pool.h gives them meaning.
struct PoolExtent {
  uint64_t offset;
  uint64_t chunk_count;
};

// A mapping of the segment. Movable; unmaps and closes when destroyed.
class Segment {
 public:
  // Makes and maps a new segment. Ends the process with a message when the system refuses.
  static Segment create(const SegmentConfig& config);

  // Maps the segment behind `descriptor` (taken over). On a foreign version or a damaged header returns an unmapped
  // Segment and sets `problem`.
  static Segment attach(int descriptor, std::string& problem);

  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  ~Segment();

  explicit operator bool() const { return base_ != nullptr; }
  int descriptor() const { return descriptor_; }

  SegmentHeader& header() const { return *reinterpret_cast<SegmentHeader*>(base_); }
  RankRecord& rank(uint32_t index) const { return reinterpret_cast<RankRecord*>(base_ + header().ranks_offset)[index]; }
  // Of the courier.
  RankRecord& courier() const { return rank(header().rank_count); }
  // By rank in MPI_COMM_WORLD.
  std::span<const RankPlace> places() const {
    return {reinterpret_cast<const RankPlace*>(base_ + header().places_offset), header().world_size};
  }
  std::byte* at(uint64_t offset) const { return base_ + offset; }

 private:
  Segment(int descriptor, std::byte* base, uint64_t bytes) : descriptor_(descriptor), base_(base), bytes_(bytes) {}

  int descriptor_ = -1;
  std::byte* base_ = nullptr;
  uint64_t bytes_ = 0;
};

// Bytes that the tables of a pool of `chunk_count` chunks take.
uint64_t pool_table_bytes(uint64_t chunk_count);

// Holds the node's lock. Survives the death of a holder: the state behind the lock is only statistics and scheduling of
// a job that the agent is about to end.
class NodeLock {
 public:
  explicit NodeLock(SegmentHeader& header);
  // Only if it is free. For the agent, which must not wait for a rank that somebody has stopped (SIGSTOP).
  NodeLock(SegmentHeader& header, std::try_to_lock_t);
  ~NodeLock();
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;

  bool is_held() const { return is_held_; }

 private:
  pthread_mutex_t& mutex_;
  bool is_held_ = true;
};

// Initialises a robust mutex in shared memory, and locks one.
void initialise_shared_mutex(pthread_mutex_t& mutex);
void lock_shared_mutex(pthread_mutex_t& mutex);

}  // namespace spillway::node
