#include "shuffle/send_list.h"

#include <algorithm>

#include "base/error.h"

namespace spillway::shuffle {
namespace {

constexpr size_t kFirstTableSlots = 1 << 12;
constexpr unsigned kListsWithoutTable = 15;  // until it is tried again
// Where of so many records all but one had a key that was there, the table's part that is in use is in the caches.
constexpr uint64_t kHitsOfFewKeys = 16;

}  // namespace

SendList::SendList(size_t bytes, const KeyOrder& order, const Combiner& combiner)
    : bytes_(bytes), order_(order), combiner_(combiner), memory_(bytes), uses_table_(static_cast<bool>(combiner)) {
  if (uses_table_) table_.resize(kFirstTableSlots);
}

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

// There is room for all that wait, even if no two have the same key.
bool SendList::add_later(uint32_t partition, uint32_t tag, const Record& record) {
  const size_t bytes = index_bytes() + record_bytes(record) + sizeof(Entry);
  if (waiting_count_ == kMostWaiting || !has_room_for(waiting_bytes_ + bytes)) {
    settle();
    if (!has_room_for(bytes)) return add_to_table(partition, tag, record);
  }
  __builtin_prefetch(&table_[tag & (table_.size() - 1)], 1);
  WaitingRecord& waiting = waiting_[waiting_count_++];
  waiting.tag = tag;
  waiting.partition = partition;
  waiting.key_bytes = static_cast<uint8_t>(record.key.size());
  waiting.value_bytes = static_cast<uint8_t>(record.value.size());
  if (record.value.size() == sizeof(int64_t)) {
    std::memcpy(waiting.value, record.value.data(), sizeof(int64_t));
  } else {
    std::memcpy(waiting.value, record.value.data(), sizeof(int32_t));
  }
  if (record.key.size() <= ShortBytes::kMost) {
    const ShortBytes key = load_short(record.key.data(), record.key.size());
    std::memcpy(waiting.key, &key, sizeof key);
  } else {
    std::memcpy(waiting.key, record.key.data(), record.key.size());
  }
  waiting_bytes_ += bytes;
  return true;
}

void SendList::settle() {
  const size_t mask = table_.size() - 1;
  for (size_t i = 0; i < waiting_count_; ++i) {
    const Slot& slot = table_[waiting_[i].tag & mask];
    if (slot.tag == waiting_[i].tag) __builtin_prefetch(memory_.data() + slot.place, 1);
  }
  for (size_t i = 0; i < waiting_count_; ++i) {
    const WaitingRecord& waiting = waiting_[i];
    const Record record{{waiting.key, waiting.key_bytes}, {waiting.value, waiting.value_bytes}};
    SPILLWAY_CHECK(add_to_table(waiting.partition, waiting.tag, record));
  }
  waiting_count_ = 0;
  waiting_bytes_ = 0;
}

// In place where the value stays as long as it was; else behind all others, and what was there is not sent.
SendList::Outcome SendList::combine_by_program(Slot& slot, const Record& old, const Record& record) {
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
    fetches_ahead_ = combiner_.is_librarys() && kHitsOfFewKeys * entries_.size() > added_count_;
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
  waiting_count_ = 0;
  waiting_bytes_ = 0;
  used_ = 0;
  if (memory_.capacity() > bytes_) memory_.replace(bytes_);
}

}  // namespace spillway::shuffle
