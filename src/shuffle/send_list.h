// A send partition list: records of one process for all partitions, as they come.
//
// Adding one is the hot path of every job: its bytes are appended to one piece of memory, and sixteen bytes to an index
// that is sorted later, elsewhere. Nothing is allocated. Where the program combines values, a hash table finds the
// record with the same key, so that text of a hundred million words becomes lists of distinct ones; where three of four
// records find none, the next lists do without the table.
#pragma once

#include <cstdint>
#include <vector>

#include "shuffle/byte_buffer.h"
#include "shuffle/combiner.h"
#include "shuffle/key_order.h"
#include "shuffle/record_format.h"

namespace spillway::shuffle {

class SendList {
 public:
  struct Entry {
    uint64_t prefix;  // of the key
    uint32_t partition;
    uint32_t offset;  // of the record
  };
  static_assert(sizeof(Entry) == 16);
  static constexpr size_t kMostBytes = size_t{1} << 30;  // offsets have 32 bits

  // `combiner`, which may be empty, and `order` must stay. Of memory it takes about twice `bytes`, with the table three
  // times.
  SendList(size_t bytes, const KeyOrder& order, const Combiner& combiner);

  // False, and nothing is added, when there is no room. An empty list takes any record.
  bool add(uint32_t partition, uint64_t key_hash, const Record& record);

  bool is_empty() const { return entries_.empty(); }
  // Records that have been added, and those that are left of them.
  uint64_t added_count() const { return added_count_; }
  std::vector<Entry>& entries() { return entries_; }
  const char* record_at(const Entry& entry) const { return memory_.data() + entry.offset; }
  const char* end() const { return memory_.data() + used_; }
  size_t used_bytes() const { return used_; }
  size_t usual_bytes() const { return bytes_; }

  void clear();

 private:
  // The tag is of the key and the partition, and never the same for one key in two partitions.
  struct Slot {
    uint32_t tag;
    uint32_t place;  // the record's offset; 0: nothing is here
  };

  bool append(uint32_t partition, const Record& record);
  size_t index_bytes() const { return uses_table_ ? sizeof(uint32_t) : 0; }
  enum class Outcome { combined, absent, full };
  Outcome combine(uint32_t tag, const Record& record, Slot*& slot);
  Outcome combine_with(Slot& slot, const Record& old, const Record& record);
  bool has_room_for(size_t bytes) const;
  void grow_table();
  void decide_on_table();

  const size_t bytes_;
  const KeyOrder& order_;
  const Combiner& combiner_;
  ByteBuffer memory_;
  size_t used_ = 0;
  std::vector<Entry> entries_;
  uint64_t added_count_ = 0;
  std::vector<Slot> table_;  // a power of two; of its entries at most half are used
  bool uses_table_;
  unsigned lists_without_ = 0;
  Combiner::Slots slots_;
};

}  // namespace spillway::shuffle
