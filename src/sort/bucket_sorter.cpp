#include "sort/bucket_sorter.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace spillway::sort {
namespace {

constexpr int kDigitBits = 11;
constexpr ptrdiff_t kFewEntries = 256;  // fit in the first cache
constexpr ptrdiff_t kAhead = 16;        // fetched, so that nobody waits for memory

}  // namespace

void BucketSorter::sort(const std::vector<Piece>& pieces, uint64_t records, const std::optional<Repeated>& repeated) {
  entries_.clear();
  entries_.reserve(records);
  next_entry_ = 0;
  const uint64_t extra = layout_.extra_bytes();
  for (const Piece& piece : pieces)
    for (const char* at = piece.data; at != piece.data + piece.bytes;) {
      const std::string_view record = layout_.stored(at);
      entries_.push_back({layout_.order().prefix(layout_.key(record)), at});
      at += record.size() + extra;
      count(1);
    }
  other_.resize(entries_.size());
  Entry* const begin = entries_.data();
  sort_entries(begin, begin + entries_.size(), other_.data());
  if (layout_.has_more_than_prefix()) order_same_prefixes(begin, begin + entries_.size());
  if (layout_.is_unique()) drop_repeated(repeated);
}

template <typename Function>
void BucketSorter::for_each(Entry* begin, Entry* end, Function function) {
  while (begin != end) {
    const ptrdiff_t part = std::min<ptrdiff_t>(end - begin, kRecordsBetween);
    for (Entry* const part_end = begin + part; begin != part_end; ++begin) function(*begin);
    count(static_cast<uint64_t>(part));
  }
}

// Of entries that are ordered by prefixes, those with the same one, and so on.
void BucketSorter::order_same_prefixes(Entry* begin, Entry* end) {
  std::vector<Group> groups;  // no recursion: keys may have much in common
  find_same_prefixes(begin, end, sizeof(uint64_t), groups);
  while (!groups.empty()) {
    const Group group = groups.back();
    groups.pop_back();
    const std::optional<size_t> compared_bytes = order_by_next_bytes(group);
    if (compared_bytes) find_same_prefixes(group.begin, group.end, *compared_bytes, groups);
  }
}

// Orders groups of few at once, while their records are on their way to the cache.
void BucketSorter::find_same_prefixes(Entry* begin, Entry* end, size_t compared_bytes, std::vector<Group>& groups) {
  for (Entry* same = begin; same != end;) {
    Entry* after = same;
    do {
      if (end - after > kAhead && after[kAhead].prefix == after[kAhead - 1].prefix) fetch_key(after[kAhead]);
      ++after;
    } while (after != end && after->prefix == same->prefix);
    if (after - same > kFewEntries) {
      groups.push_back({same, after, compared_bytes});
    } else if (after - same > 1) {
      order_few(same, after);
    }
    count(static_cast<uint64_t>(after - same));
    same = after;
  }
}

void BucketSorter::fetch_key(const Entry& entry) const {
  __builtin_prefetch(layout_.is_lines() ? entry.record : key_of(entry).data());
}

void BucketSorter::order_few(Entry* begin, Entry* end) {
  const std::string_view first = key_of(*begin);
  const auto is_equal = [&](const Entry& entry) { return layout_.order().compare(key_of(entry), first) == 0; };
  if (!layout_.has_positions() && std::all_of(begin + 1, end, is_equal)) return;
  order_by_comparing(begin, end);
}

void BucketSorter::order_by_comparing(Entry* begin, Entry* end) {
  std::sort(begin, end, [&](const Entry& first, const Entry& second) {
    count(1);
    return layout_.is_before(record(first), record(second));
  });
}

// Equal keys by positions, bytes by those behind what all have in common: up to where those of the same prefix are
// equal then. Nothing: all are ordered.
std::optional<size_t> BucketSorter::order_by_next_bytes(const Group& group) {
  const std::string_view first = key_of(*group.begin);
  size_t common = first.size();
  bool are_equal = true;
  for_each(group.begin + 1, group.end, [&](const Entry& entry) {
    if (group.end - &entry > kAhead) fetch_key((&entry)[kAhead]);
    const std::string_view key = key_of(entry);
    if (layout_.order().type() == KeyType::bytes) {
      const size_t most = std::min(common, key.size());
      const size_t begin = std::min(group.compared_bytes, most);
      common = static_cast<size_t>(
          std::mismatch(first.begin() + begin, first.begin() + most, key.begin() + begin).first - first.begin());
      are_equal &= common == first.size() && common == key.size();
    } else {
      are_equal = are_equal && layout_.order().compare_further(first, key) == 0;
    }
  });
  if (are_equal) {
    if (!layout_.has_positions()) return {};
    for_each(group.begin, group.end, [&](Entry& entry) { entry.prefix = RecordLayout::position(record(entry)); });
    sort_entries(group.begin, group.end, other_.data());
    return {};
  }
  const size_t from = std::max(common / sizeof(uint64_t) * sizeof(uint64_t), group.compared_bytes);
  const uint64_t prefix = layout_.order().prefix(first, from);
  bool do_prefixes_differ = false;
  for_each(group.begin, group.end, [&](Entry& entry) {
    entry.prefix = layout_.order().prefix(key_of(entry), from);
    do_prefixes_differ |= entry.prefix != prefix;
  });
  if (!do_prefixes_differ) {  // numbers, or keys that end with zeros
    order_by_comparing(group.begin, group.end);
    return {};
  }
  sort_entries(group.begin, group.end, other_.data());
  return from + sizeof(uint64_t);
}

// By the highest digit in which the prefixes differ, and then what has one value of it; few by comparing.
void BucketSorter::sort_entries(Entry* begin, Entry* end, Entry* other) {
  const auto is_lower = [](const Entry& first, const Entry& second) { return first.prefix < second.prefix; };
  if (end - begin <= kFewEntries) {
    count(static_cast<uint64_t>(end - begin));
    return std::sort(begin, end, is_lower);
  }
  uint64_t differ = 0;
  for_each(begin, end, [&](const Entry& entry) { differ |= entry.prefix ^ begin->prefix; });
  if (differ == 0) return;
  const int shift = std::max(0, 64 - std::countl_zero(differ) - kDigitBits);
  constexpr uint64_t kMask = (1 << kDigitBits) - 1;
  std::vector<uint32_t> ends((size_t{1} << kDigitBits) + 1, 0);
  for_each(begin, end, [&](const Entry& entry) {
    ++ends[(entry.prefix >> shift & kMask) + 1];
    other[&entry - begin] = entry;
  });
  for (size_t digit = 1; digit < ends.size(); ++digit) ends[digit] += ends[digit - 1];
  for_each(other, other + (end - begin), [&](const Entry& entry) {
    begin[ends[entry.prefix >> shift & kMask]++] = entry;  // begins become ends
  });
  if (shift == 0) return;
  for (size_t digit = 0, from = 0; digit <= kMask; from = ends[digit++])
    sort_entries(begin + from, begin + ends[digit], other);
}

void BucketSorter::drop_repeated(const std::optional<Repeated>& repeated) {
  size_t kept = 0;
  for (size_t first = 0; first != entries_.size();) {
    const std::string_view key = key_of(entries_[first]);
    size_t after = first + 1;
    while (after != entries_.size() && layout_.order().compare(key_of(entries_[after]), key) == 0) ++after;
    const bool is_repeated = repeated && layout_.order().compare(repeated->key, key) == 0;
    entries_[kept++] = {is_repeated ? repeated->count : after - first, entries_[first].record};
    count(after - first);
    first = after;
  }
  entries_.resize(kept);
}

uint64_t BucketSorter::written_bytes() {
  uint64_t bytes = 0;
  for_each(entries_.data(), entries_.data() + entries_.size(),
           [&](const Entry& entry) { bytes += layout_.written_bytes(record(entry), entry.prefix); });
  return bytes;
}

uint64_t BucketSorter::copy_next(char* to, uint64_t most) {
  const size_t record_bytes = std::max<size_t>(layout_.record_bytes(), 1);
  uint64_t copied = 0;
  while (copied != most) {
    if (rest_from_ != rest_.size()) {
      const size_t bytes = rest_.copy(to + copied, most - copied, rest_from_);
      rest_from_ += bytes;
      copied += bytes;
      continue;
    }
    if (next_entry_ == entries_.size()) break;
    if (const size_t ahead = next_entry_ + kAhead; ahead < entries_.size()) {
      const char* const next = entries_[ahead].record;
      __builtin_prefetch(next);
      __builtin_prefetch(next + record_bytes - 1);
    }
    const Entry& entry = entries_[next_entry_++];
    const std::string_view stored = record(entry);
    const uint64_t bytes = layout_.written_bytes(stored, entry.prefix);
    if (bytes <= most - copied) {
      layout_.write(stored, entry.prefix, to + copied);
      copied += bytes;
    } else {
      rest_.resize(bytes);
      layout_.write(stored, entry.prefix, rest_.data());
      rest_from_ = 0;
    }
  }
  return copied;
}

}  // namespace spillway::sort
