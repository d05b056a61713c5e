// A send partition list: records of one process for all partitions, as they come.
//
// Adding one is the hot path of every job: its bytes are appended to one piece of memory, and sixteen bytes to an index
// that is sorted later, elsewhere. Nothing is allocated. Where the program combines values, a hash table finds the
// record with the same key, so that text of a hundred million words becomes lists of distinct ones; where three of four
// records find none, the next lists do without the table. It is larger than the processor's caches. So where the values
// are numbers and the library combines them, short records wait for some others, and the places of all are fetched at
// once, unless the last list had few keys.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "shuffle/byte_buffer.h"
#include "shuffle/combiner.h"
#include "shuffle/key_order.h"
#include "shuffle/record_format.h"
#include "shuffle/short_bytes.h"

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

  bool is_empty() const { return entries_.empty() && waiting_count_ == 0; }
  // Records that have been added, and those that are left of them.
  uint64_t added_count() const { return added_count_; }
  std::vector<Entry>& entries() {
    settle();
    return entries_;
  }
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

  struct WaitingRecord {
    static constexpr size_t kMostKeyBytes = 46;
    uint32_t tag;
    uint32_t partition;
    uint8_t key_bytes;
    uint8_t value_bytes;
    char value[sizeof(int64_t)];
    char key[kMostKeyBytes];
  };
  static_assert(sizeof(WaitingRecord) == 64);
  static constexpr size_t kMostWaiting = 16;
  static constexpr uint32_t kTagFactor = 0x9e3779b1;  // odd, so that its products with two partitions differ

  bool add_later(uint32_t partition, uint32_t tag, const Record& record);
  bool add_to_table(uint32_t partition, uint32_t tag, const Record& record);
  void settle();
  static bool are_equal(std::string_view first, std::string_view second);
  bool append(uint32_t partition, const Record& record);
  size_t index_bytes() const { return uses_table_ ? sizeof(uint32_t) : 0; }
  enum class Outcome { combined, absent, full };
  Outcome combine(uint32_t tag, const Record& record, Slot*& slot);
  Outcome combine_by_program(Slot& slot, const Record& old, const Record& record);
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
  WaitingRecord waiting_[kMostWaiting];
  size_t waiting_count_ = 0;
  size_t waiting_bytes_ = 0;  // that they need where no other record has their keys
  std::vector<Slot> table_;   // a power of two; of its entries at most half are used
  bool uses_table_;
  bool fetches_ahead_ = false;
  unsigned lists_without_ = 0;
  Combiner::Slots slots_;
};

inline bool SendList::has_room_for(size_t bytes) const {
  return used_ + bytes + sizeof(Entry) * entries_.size() <= bytes_;
}

inline bool SendList::add(uint32_t partition, uint64_t key_hash, const Record& record) {
  bool is_added = false;
  if (uses_table_) {
    const uint32_t tag = static_cast<uint32_t>(key_hash) ^ (partition * kTagFactor);
    if (fetches_ahead_ && record.key.size() <= WaitingRecord::kMostKeyBytes) {
      is_added = add_later(partition, tag, record);
    } else {
      settle();
      is_added = add_to_table(partition, tag, record);
    }
  } else {
    is_added = append(partition, record);
  }
  added_count_ += is_added ? 1 : 0;
  return is_added;
}

inline bool SendList::add_to_table(uint32_t partition, uint32_t tag, const Record& record) {
  Slot* slot = nullptr;
  const Outcome outcome = combine(tag, record, slot);
  if (outcome == Outcome::full) return false;
  if (outcome == Outcome::absent) {
    if (!append(partition, record)) return false;
    *slot = {tag, entries_.back().offset};
    if (2 * entries_.size() > table_.size()) grow_table();
  }
  return true;
}

// Leaves in `slot` where the key is, or could be.
inline SendList::Outcome SendList::combine(uint32_t tag, const Record& record, Slot*& slot) {
  const size_t mask = table_.size() - 1;
  for (size_t i = tag & mask;; i = (i + 1) & mask) {
    slot = &table_[i];
    if (slot->place == 0) return Outcome::absent;
    if (slot->tag != tag) continue;
    Record old;
    read_record(memory_.data() + slot->place, end(), old);
    if (!are_equal(old.key, record.key)) continue;
    if (!combiner_.is_librarys()) return combine_by_program(*slot, old, record);
    combiner_.combine_numbers(const_cast<char*>(old.value.data()), record.value.data(), record.value.size());
    return Outcome::combined;
  }
}

inline bool SendList::are_equal(std::string_view first, std::string_view second) {
  if (first.size() != second.size()) return false;
  if (first.size() > ShortBytes::kMost) return first == second;
  return load_short(first.data(), first.size()) == load_short(second.data(), second.size());
}

}  // namespace spillway::shuffle
