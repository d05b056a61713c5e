#include "shuffle/send_list.h"

#include <algorithm>

namespace spillway::shuffle {
namespace {

constexpr size_t kFirstTableSlots = 1 << 12;
constexpr unsigned kListsWithoutTable = 15;  // until it is tried again
constexpr uint32_t kOddNumber = 0x9e3779b1;  // so that its products with two partitions differ

template <typename Word>
bool words_are_equal(const char* first, const char* second) {
  Word words[2];
  std::memcpy(&words[0], first, sizeof(Word));
  std::memcpy(&words[1], second, sizeof(Word));
  return words[0] == words[1];
}

// memcmp() is a call, and most keys are short.
bool are_equal(const char* first, const char* second, size_t bytes) {
  if (bytes > 16) return std::memcmp(first, second, bytes) == 0;
  const size_t last = bytes - (bytes >= 8 ? 8 : 4);
  if (bytes >= 8)
    return words_are_equal<uint64_t>(first, second) && words_are_equal<uint64_t>(first + last, second + last);
  if (bytes >= 4)
    return words_are_equal<uint32_t>(first, second) && words_are_equal<uint32_t>(first + last, second + last);
  for (size_t i = 0; i < bytes; ++i)
    if (first[i] != second[i]) return false;
  return true;
}

}  // namespace

SendList::SendList(size_t bytes, const KeyOrder& order, const Combiner& combiner)
    : bytes_(bytes), order_(order), combiner_(combiner), memory_(bytes), uses_table_(static_cast<bool>(combiner)) {
  if (uses_table_) table_.resize(kFirstTableSlots);
}

bool SendList::has_room_for(size_t bytes) const { return used_ + bytes + sizeof(Entry) * entries_.size() <= bytes_; }

// Where the table is used, the index of a record's entry stands before it.
bool SendList::append(uint32_t partition, const Record& record) {
  const size_t bytes = index_bytes() + record_bytes(record);
  if (!has_room_for(bytes)) {
    if (!is_empty()) return false;
    if (bytes > memory_.capacity()) memory_.replace(bytes);
  }
  const auto index = static_cast<uint32_t>(entries_.size());
  std::memcpy(memory_.data() + used_, &index, index_bytes());
  const size_t offset = used_ + index_bytes();
  entries_.push_back({order_.prefix(record.key), partition, static_cast<uint32_t>(offset)});
  write_record(memory_.data() + offset, record);
  used_ += bytes;
  return true;
}

bool SendList::add(uint32_t partition, uint64_t key_hash, const Record& record) {
  if (uses_table_) {
    Slot* slot = nullptr;
    const uint32_t tag = static_cast<uint32_t>(key_hash) ^ (partition * kOddNumber);
    const Outcome outcome = combine(tag, record, slot);
    if (outcome == Outcome::full) return false;
    if (outcome == Outcome::absent) {
      if (!append(partition, record)) return false;
      *slot = {tag, entries_.back().offset};
      if (2 * entries_.size() > table_.size()) grow_table();
    }
  } else if (!append(partition, record)) {
    return false;
  }
  ++added_count_;
  return true;
}

// Leaves in `slot` where the key is, or could be.
SendList::Outcome SendList::combine(uint32_t tag, const Record& record, Slot*& slot) {
  const size_t mask = table_.size() - 1;
  for (size_t i = tag & mask;; i = (i + 1) & mask) {
    slot = &table_[i];
    if (slot->place == 0) return Outcome::absent;
    if (slot->tag != tag) continue;
    Record old;
    read_record(memory_.data() + slot->place, end(), old);
    if (old.key.size() == record.key.size() && are_equal(old.key.data(), record.key.data(), record.key.size()))
      return combine_with(*slot, old, record);
  }
}

// In place where the value stays as long as it was; else behind all others, and what was there is not sent.
SendList::Outcome SendList::combine_with(Slot& slot, const Record& old, const Record& record) {
  const std::string_view value = combiner_.combine(old.key, old.value, record.value, slots_);
  if (value.size() == old.value.size()) {
    std::memmove(const_cast<char*>(old.value.data()), value.data(), value.size());
    return Outcome::combined;
  }
  const Record combined{old.key, value};
  const size_t bytes = index_bytes() + record_bytes(combined);
  if (!has_room_for(bytes)) return Outcome::full;
  uint32_t index = 0;
  std::memcpy(&index, memory_.data() + slot.place - sizeof index, sizeof index);
  std::memcpy(memory_.data() + used_, &index, sizeof index);
  slot.place = static_cast<uint32_t>(used_ + sizeof index);
  entries_[index].offset = slot.place;
  write_record(memory_.data() + slot.place, combined);
  used_ += bytes;
  return Outcome::combined;
}

void SendList::grow_table() {
  std::vector<Slot> larger(2 * table_.size());
  const size_t mask = larger.size() - 1;
  for (const Slot& slot : table_) {
    if (slot.place == 0) continue;
    size_t i = slot.tag & mask;
    while (larger[i].place != 0) i = (i + 1) & mask;
    larger[i] = slot;
  }
  table_.swap(larger);
}

void SendList::decide_on_table() {
  if (!combiner_ || added_count_ == 0) return;
  if (uses_table_) {
    uses_table_ = 4 * entries_.size() < 3 * added_count_;
    lists_without_ = 0;
  } else {
    uses_table_ = ++lists_without_ == kListsWithoutTable;
  }
}

void SendList::clear() {
  decide_on_table();
  std::fill(table_.begin(), table_.end(), Slot{});
  entries_.clear();
  added_count_ = 0;
  used_ = 0;
  if (memory_.capacity() > bytes_) memory_.replace(bytes_);
}

}  // namespace spillway::shuffle
