// How blocks of records go from those who read them to those who sort (hybrid-sort.txt, section 4.3). Each sorter has
// some staging buffers in symmetric memory. A counter that all share gives each block a number, from which its sorter
// and its buffer follow: nobody has to ask. Whether the buffer is free is found with one compare-and-swap, which also
// leaves word who waits; data are delivered by a put with signal, or read from the file straight into the buffer where
// both are on one node.
//
// Nobody waits in here: who has nothing to do sleeps until its bell rings, which is a counter of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sort/block_places.h"
#include "sort/slot_state.h"

namespace spillway::sort {

class Staging {
 public:
  using Place = BlockPlaces::Place;

  // Collective. `sorters` are PEs, which are the ranks of MPI_COMM_WORLD.
  Staging(const std::vector<int>& sorters, uint64_t slots, uint64_t slot_bytes);
  // Collective.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  static constexpr int kCounterPe = 0;
  // The number of the block that the caller reads next, which kCounterPe counts.
  uint64_t take_block();
  // How many have been taken, by all.
  uint64_t taken_blocks() const;
  Place place_of(uint64_t block) const { return places_.place_of(block); }
  // `later`: the bell of this PE rings when it is free. `too_early`: the block before it there has not come yet; nobody
  // says when.
  using Claim = SlotState::Claim;
  Claim claim(const Place& place);
  // Where the place is in this process's memory; nullptr on another node.
  char* direct(const Place& place) const;
  // The data are where direct() is. Rings the sorter's bell if all PEs are on one node.
  void say_delivered(const Place& place);
  // To another node. `data` stay until what it returns has_been_delivered().
  uint64_t deliver(const Place& place, const char* data, uint64_t bytes);
  bool has_been_delivered(uint64_t delivery);

  // Of `block_count` blocks, how many come to this PE; and the number of the `index`th.
  uint64_t own_count(uint64_t block_count) const { return places_.count_of(turn_, block_count); }
  uint64_t own_block(uint64_t index) const { return places_.block_of(turn_, index); }
  // The `index`th block that comes to this PE, or nullptr while it has not.
  const char* arrived(uint64_t index) const;
  // It has been used; its buffer is free. Whom to ring(), who waits for it.
  std::optional<int> release(uint64_t index);
  void ring(int pe);

  // Whether all PEs are on one node, and need nobody's help to reach each other's memory.
  bool is_all_direct() const { return is_all_direct_; }
  // What other nodes have sent goes on.
  void let_others_in();

  // How often this PE's bell has rung.
  uint64_t rings() const;
  // Sleeps while it has rung that often.
  void wait_for_ring(uint64_t rings);

 private:
  uint64_t* status(uint64_t slot) const { return words_ + 2 + slot; }

  std::vector<int> in_turn(const std::vector<int>& sorters) const;

  uint64_t* words_;  // the counter, the bell, and the state of each slot
  char* memory_;
  const BlockPlaces places_;
  const uint64_t slot_bytes_;
  uint64_t turn_ = 0;  // this PE's among the sorters
  bool is_all_direct_ = true;
};

}  // namespace spillway::sort
