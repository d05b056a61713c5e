// A send partition list after sorting: for each partition that has records, a block, ready to be sent.
#pragma once

#include <cstdint>
#include <vector>

#include "shuffle/key_order.h"
#include "shuffle/list_memory.h"
#include "shuffle/send_list.h"

namespace spillway::shuffle {

struct SortedList {
  struct Block {
    uint32_t partition;
    size_t offset;  // of its header
    size_t bytes;   // with it
    uint64_t longest_record;
  };

  ListMemory memory;
  std::vector<Block> blocks;
  uint64_t records = 0;
  std::vector<SendList::Entry> grouped;  // its memory is used again by the next list

  size_t bytes() const { return blocks.empty() ? 0 : blocks.back().offset + blocks.back().bytes; }
};

// Leaves `list`'s records where they are, and its entries in another order.
void sort_list(SendList& list, const KeyOrder& order, uint32_t partition_count, SortedList& sorted);

}  // namespace spillway::shuffle
