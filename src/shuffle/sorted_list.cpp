#include "shuffle/sorted_list.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "shuffle/program_error.h"

namespace spillway::shuffle {
namespace {

using Entry = SendList::Entry;

// The place of each partition's first entry, and behind the last partition the number of all.
std::vector<size_t> group_by_partition(const std::vector<Entry>& entries, uint32_t partition_count,
                                       std::vector<Entry>& grouped) {
  std::vector<size_t> first(partition_count + 1, 0);
  for (const Entry& entry : entries) ++first[entry.partition + 1];
  for (uint32_t partition = 0; partition < partition_count; ++partition) first[partition + 1] += first[partition];
  std::vector<size_t> next(first.begin(), first.end() - 1);
  grouped.resize(entries.size());
  for (const Entry& entry : entries) grouped[next[entry.partition]++] = entry;
  return first;
}

std::string_view key_of(const SendList& list, const Entry& entry) {
  Record record;
  read_record(list.record_at(entry), list.end(), record);
  return record.key;
}

void sort_by_comparing(const SendList& list, const KeyOrder& order, Entry* begin, Entry* end) {
  if (end - begin < 2) return;
  std::sort(begin, end, [&](const Entry& first, const Entry& second) {
    if (first.prefix != second.prefix) return first.prefix < second.prefix;
    return order.compare_further(key_of(list, first), key_of(list, second)) < 0;
  });
}

// Merging has every two neighbours agree with one of the program's answers, whatever these are. So keys are also
// compared with the first of those that are equal to them, and with one that is far before them.
void check_order(const SendList& list, const KeyOrder& order, const Entry* sorted, size_t count) {
  size_t first_equal = 0;
  for (size_t i = 1; i < count; ++i) {
    const std::string_view key = key_of(list, sorted[i]);
    if (!order.are_equal_in_order(key_of(list, sorted[first_equal]), key)) first_equal = i;
    const std::string_view far = key_of(list, sorted[(i - 1) / 2]);
    if (order.compare_further(key, far) < 0) order.refuse_contradiction(far, key);
  }
}

// By the program's order, which may contradict itself: then std::sort and std::stable_sort may leave their range.
// Leaves in `entries` what is sorted, in `spare` anything.
void sort_as_program_says(const SendList& list, const KeyOrder& order, Entry* entries, size_t count, Entry* spare) {
  const auto is_less = [&](const Entry& first, const Entry& second) {
    return order.compare_further(key_of(list, first), key_of(list, second)) < 0;
  };
  Entry* from = entries;
  Entry* to = spare;
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t begin = 0; begin < count; begin += 2 * width) {
      const size_t middle = std::min(begin + width, count);
      const size_t end = std::min(middle + width, count);
      std::merge(from + begin, from + middle, from + middle, from + end, to + begin, is_less);
    }
    std::swap(from, to);
  }
  if (from != entries) std::copy(from, from + count, entries);
  check_order(list, order, entries, count);
}

// Deals `count` entries out to about as many buckets, by where their prefixes lie between the lowest and the highest:
// of keys that are spread evenly a bucket gets one or two. What is in one bucket is sorted by comparing.
void sort_entries(const SendList& list, const KeyOrder& order, const Entry* from, size_t count, Entry* to,
                  std::vector<uint32_t>& bucket_ends) {
  const auto is_lower = [](const Entry& first, const Entry& second) { return first.prefix < second.prefix; };
  const auto [lowest, highest] = std::minmax_element(from, from + count, is_lower);
  const uint64_t range = highest->prefix - lowest->prefix;
  const int shift = std::max(0, std::countl_zero(uint64_t{count}) - std::countl_zero(range));
  const auto bucket_of = [&, first = lowest->prefix](const Entry& entry) { return (entry.prefix - first) >> shift; };
  bucket_ends.assign((range >> shift) + 2, 0);
  for (size_t i = 0; i < count; ++i) ++bucket_ends[bucket_of(from[i]) + 1];
  std::partial_sum(bucket_ends.begin(), bucket_ends.end(), bucket_ends.begin());
  for (size_t i = 0; i < count; ++i) to[bucket_ends[bucket_of(from[i])]++] = from[i];  // begins become ends
  uint32_t begin = 0;
  for (const uint32_t end : bucket_ends) {
    sort_by_comparing(list, order, to + begin, to + end);
    begin = end;
  }
}

char* copy_records(const SendList& list, const Entry* begin, const Entry* end, char* to, uint64_t& longest) {
  for (const Entry* entry = begin; entry != end; ++entry) {
    Record record;
    const char* from = list.record_at(*entry);
    const size_t bytes = static_cast<size_t>(read_record(from, list.end(), record) - from);
    std::memcpy(to, from, bytes);
    to += bytes;
    longest = std::max<uint64_t>(longest, bytes);
  }
  return to;
}

}  // namespace

void sort_list(SendList& list, const KeyOrder& order, uint32_t partition_count, SortedList& sorted) {
  const std::vector<size_t> first = group_by_partition(list.entries(), partition_count, sorted.grouped);
  const size_t record_bytes = list.used_bytes();
  const size_t blocks = std::min<size_t>(partition_count, list.entries().size());
  const size_t most = record_bytes + blocks * sizeof(BlockHeader);
  if (sorted.memory.capacity() < most || sorted.memory.capacity() > 2 * most + list.usual_bytes())
    sorted.memory.replace(std::max(most, list.usual_bytes()));
  sorted.blocks.clear();
  sorted.records = list.entries().size();
  std::vector<uint32_t> bucket_ends;
  char* to = sorted.memory.data();
  for (uint32_t partition = 0; partition < partition_count; ++partition) {
    const size_t count = first[partition + 1] - first[partition];
    if (count == 0) continue;
    Entry* begin = sorted.grouped.data() + first[partition];
    Entry* into = list.entries().data() + first[partition];  // by now all entries are in `grouped`
    if (order.is_programs()) {
      working("sorting what goes to", partition, [&] { sort_as_program_says(list, order, begin, count, into); });
    } else if (order.sorts()) {
      sort_entries(list, order, begin, count, into, bucket_ends);
      begin = into;
    }
    const Entry* end = begin + count;
    char* records = to + sizeof(BlockHeader);
    uint64_t longest_record = 0;
    char* after = copy_records(list, begin, end, records, longest_record);
    const BlockHeader header{kBlockVersion, partition, static_cast<uint64_t>(after - records),
                             static_cast<uint64_t>(end - begin)};
    std::memcpy(to, &header, sizeof header);
    sorted.blocks.push_back(
        {partition, static_cast<size_t>(to - sorted.memory.data()), static_cast<size_t>(after - to), longest_record});
    to = after;
  }
}

}  // namespace spillway::shuffle
