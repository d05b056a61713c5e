// Envelopes between the ranks of a node, and the mailboxes they go through.
//
// Each rank has one mailbox, and so has the courier, which takes what is for ranks of other nodes: a stack of cells
// that any rank pushes to without a lock and that its owner takes as a whole and turns round, so that the messages of a
// sender arrive in the order sent. A cell carries an envelope and, when it is small, the payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "message/message_store.h"
#include "node/local_rank.h"

namespace spillway::message {

enum class CellKind : uint32_t {
  message,      // for the matching engine
  acknowledge,  // a synchronous send has been matched: `token` names it at its sender
  recall,       // the sender of `token` has cancelled it: to be taken out, unless it has been matched
  recalled,     // it has been taken out: `token` names it at its sender
  multicast,    // for the courier only: a message for several ranks of other nodes
  in_library,   // for the courier only: a rank of this node has begun to wait in the MPI library
};

// What travels in a cell. `source` and `tag` are MPI's; `sender` and `to` are ranks of MPI_COMM_WORLD. Of a multicast,
// `to` is the number of receivers (set_receivers).
struct Cell {
  uint32_t next;  // cell below in the mailbox's stack, or in the free list
  CellKind kind;
  uint64_t context;
  int32_t source;
  int32_t tag;
  uint64_t bytes;
  Payload payload;  // place `none`: the bytes are in `inlined`
  uint32_t sender;
  uint32_t token;  // 0: the sender does not wait for an acknowledgement
  uint32_t to;
  std::byte inlined[node::kInlineBytes];
};
static_assert(sizeof(Cell) == node::kCellBytes, "cells are an array in the shared segment");
static_assert(offsetof(Cell, inlined) == 60);

// The receivers of a multicast: `to` of them, ranks of MPI_COMM_WORLD. They are in the cell where there is room for
// them beside the data, else in the store. The data are in the cell if `are_data_inlined`, else in `payload`.
bool are_data_inlined(const Cell& multicast);
void set_receivers(Cell& multicast, std::span<const uint32_t> receivers, MessageStore& store);
// Once: what the store has of them is given back.
std::vector<uint32_t> take_receivers(const Cell& multicast, MessageStore& store);

class Mailbox {
 public:
  explicit Mailbox(node::LocalRank& self);

  // Puts a copy of `cell` into the mailbox of rank `to` of MPI_COMM_WORLD, or into the courier's when that is on
  // another node, and wakes who waits for it. When all cells of the node are in use, waits, still with its slot, until
  // sleeping ranks have emptied their mailboxes.
  void push(uint32_t to, const Cell& cell);

  // The same into the courier's own mailbox.
  void push_to_courier(const Cell& cell);

  // As push(), for who has other things to do than to wait: returns false when all cells are in use, and has the ranks
  // that sleep empty their mailboxes.
  bool try_push(uint32_t to, const Cell& cell);

  // Takes all cells that have arrived, oldest first: calls accept(cell) for each. Returns their number.
  template <typename Accept>
  uint64_t take_all(Accept accept) {
    uint32_t index = take_stack();
    uint64_t count = 0;
    while (index != node::kNoIndex) {
      const uint32_t next = cell_at(index).next;
      accept(const_cast<const Cell&>(cell_at(index)));
      free_cell(index);
      index = next;
      ++count;
    }
    return count;
  }

  // The same for at most `most` cells. The others stay in use, and come first the next time.
  template <typename Accept>
  uint64_t take_some(uint64_t most, Accept accept) {
    uint64_t count = 0;
    while (count < most) {
      if (next_taken_ == node::kNoIndex) next_taken_ = take_stack();
      const uint32_t index = next_taken_;
      if (index == node::kNoIndex) break;
      next_taken_ = cell_at(index).next;
      accept(const_cast<const Cell&>(cell_at(index)));
      free_cell(index);
      ++count;
    }
    return count;
  }

  // There are cells to be taken.
  bool has_any() const { return next_taken_ != node::kNoIndex || self_.record().mailbox_head != node::kNoIndex; }

 private:
  node::RankRecord& receiver_of(uint32_t to);
  bool try_put(node::RankRecord& receiver, const Cell& cell);
  void put(node::RankRecord& receiver, const Cell& cell);
  Cell& cell_at(uint32_t index) const { return cells_[index]; }
  uint32_t take_stack();
  uint32_t take_free_cell();
  void free_cell(uint32_t index);

  node::LocalRank& self_;
  Cell* cells_;
  uint32_t next_taken_ = node::kNoIndex;  // of a stack that take_some() has begun
};

}  // namespace spillway::message
