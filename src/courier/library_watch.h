// Ranks that sleep keep the MPI library moving while others wait in it (mpi/runtime.h). On one node each sees the
// others' records; this is how nodes know of each other. Courier's thread only.
//
// The first rank of a node that begins to wait there sets SegmentHeader::is_library_use_known from 0 to 1, and puts a
// cell `in_library` into the courier's mailbox. The courier tells all other nodes, and looks from time to time whether
// there still is such a rank. So ranks pay for one word only, whatever they do in the library.
#pragma once

#include <cstdint>
#include <vector>

#include "node/local_rank.h"

namespace spillway::courier {

class LibraryWatch {
 public:
  explicit LibraryWatch(node::LocalRank& self) : self_(self), uses_(self.header().node_count) {}

  // A cell `in_library` has come. Returns true when the other nodes are to be told that there are such ranks.
  bool begin();

  // Looks, when it is time. Returns true when the other nodes are to be told that there are none any more.
  bool has_ended();

  // Until the next look, in milliseconds; -1: there is none.
  int timeout_ms() const;

  // Another node has told. Wakes the ranks that rest, when it is that it has begun.
  void note(uint32_t node, bool is_in_use);

 private:
  bool is_anyone_in_library() const;

  node::LocalRank& self_;
  uint64_t next_look_ns_ = 0;  // 0: the other nodes know of no use
  uint32_t quiet_looks_ = 0;   // in a row that found nobody
  std::vector<bool> uses_;     // by node
};

}  // namespace spillway::courier
