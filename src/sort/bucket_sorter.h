// The sorting of records in memory: an index of prefixes is sorted, records are moved once.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sort/record_layout.h"

namespace spillway::sort {

class BucketSorter {
 public:
  static constexpr uint64_t kEntryBytes = 16;  // of the index, of which there are two

  static constexpr uint64_t kRecordsBetween = 4096;  // some 0.2 ms

  // `in_between` is called while records are sorted, each time when about so many have been looked at.
  explicit BucketSorter(const RecordLayout& layout, std::function<void()> in_between = {})
      : layout_(layout), in_between_(std::move(in_between)) {}

  // Stored records, one after the other.
  struct Piece {
    const char* data;
    uint64_t bytes;
  };
  // A key of which there have been so many records, not all of which are there.
  struct Repeated {
    std::string_view key;
    uint64_t count;
  };
  // So many `records` in all. The pieces stay until copy_next() has copied all, the key of `repeated` until this
  // returns. Of unique records those that do not come out are dropped here.
  void sort(const std::vector<Piece>& pieces, uint64_t records, const std::optional<Repeated>& repeated);

  uint64_t records() const { return entries_.size(); }
  // Of all of them in the output. Takes a look at each.
  uint64_t written_bytes();
  // The next `most` bytes of the sorted records, as they are in the output, or fewer at the end. Returns how many.
  uint64_t copy_next(char* to, uint64_t most);

 private:
  struct Entry {
    uint64_t prefix;  // and when they are unique, how many there were
    const char* record;
  };
  static_assert(sizeof(Entry) == kEntryBytes);

  // Of entries with the same prefix, that of the bytes before `compared_bytes` of their keys.
  struct Group {
    Entry* begin;
    Entry* end;
    size_t compared_bytes;
  };
  void count(uint64_t records) {
    counted_ += records;
    if (counted_ < kRecordsBetween) return;
    counted_ = 0;
    if (in_between_) in_between_();
  }
  template <typename Function>
  void for_each(Entry* begin, Entry* end, Function function);
  void order_same_prefixes(Entry* begin, Entry* end);
  void find_same_prefixes(Entry* begin, Entry* end, size_t compared_bytes, std::vector<Group>& groups);
  void fetch_key(const Entry& entry) const;
  void order_few(Entry* begin, Entry* end);
  void order_by_comparing(Entry* begin, Entry* end);
  std::optional<size_t> order_by_next_bytes(const Group& group);
  void sort_entries(Entry* begin, Entry* end, Entry* other);
  void drop_repeated(const std::optional<Repeated>& repeated);
  std::string_view record(const Entry& entry) const { return layout_.stored(entry.record); }
  std::string_view key_of(const Entry& entry) const { return layout_.key(record(entry)); }

  const RecordLayout layout_;
  const std::function<void()> in_between_;
  uint64_t counted_ = 0;  // since it was called
  std::vector<Entry> entries_;
  std::vector<Entry> other_;
  uint64_t next_entry_ = 0;
  std::string rest_;  // of the record that had no room, from so many bytes on
  size_t rest_from_ = 0;
};

}  // namespace spillway::sort
