#include "shuffle/sorted_list.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>

#include "sample_records.h"
#include "shuffle/program_error.h"
#include "shuffle/send_list.h"

namespace spillway::shuffle {
namespace {

constexpr uint32_t kPartitions = 5;
constexpr Combiner kNoCombiner;

uint32_t partition_of(std::string_view key) { return key.empty() ? 0 : key.size() % kPartitions; }

bool add(SendList& list, const TextRecord& record) {
  return list.add(partition_of(record.first), std::hash<std::string>()(record.first), view_of(record));
}

std::vector<TextRecord> records_of(const SortedList& sorted, const SortedList::Block& block) {
  const char* at = sorted.memory.data() + block.offset;
  BlockHeader header;
  std::memcpy(&header, at, sizeof header);
  EXPECT_EQ(header.version, kBlockVersion);
  EXPECT_EQ(header.partition, block.partition);
  EXPECT_EQ(header.bytes + sizeof header, block.bytes);
  const char* end = at + block.bytes;
  std::vector<TextRecord> records;
  Record record;
  for (at += sizeof header; at != nullptr && at != end;) {
    at = read_record(at, end, record);
    EXPECT_NE(at, nullptr);
    records.push_back(copy_of(record));
  }
  EXPECT_EQ(header.records, records.size());
  return records;
}

const void* append_text(const void*, void* into, const void* value, void*) {
  static thread_local std::string text;
  static thread_local Bytes bytes;
  const auto& first = *static_cast<const Bytes*>(into);
  const auto& second = *static_cast<const Bytes*>(value);
  text.assign(static_cast<const char*>(first.data), first.size);
  text.append(static_cast<const char*>(second.data), second.size);
  bytes = {text.data(), text.size()};
  return &bytes;
}

const void* add_numbers(const void*, void* into, const void* value, void*) {
  *static_cast<int64_t*>(into) += *static_cast<const int64_t*>(value);
  return into;
}

std::string bytes_of(int64_t number) { return {reinterpret_cast<const char*>(&number), sizeof number}; }

TEST(SortedList, has_each_partitions_records_in_order) {
  Random random(test_seed());
  const KeyOrder order(ItemClass::bytes);
  SendList list(1 << 20, order, kNoCombiner);
  SortedList sorted_list;
  for (int round = 0; round < 3; ++round) {
    std::map<uint32_t, std::vector<TextRecord>> expected;
    for (const TextRecord& record : random_records(random, 2000)) {
      ASSERT_TRUE(add(list, record));
      expected[partition_of(record.first)].push_back(record);
    }
    sort_list(list, order, kPartitions, sorted_list);
    ASSERT_EQ(sorted_list.blocks.size(), expected.size());
    for (const auto& block : sorted_list.blocks) {
      const auto found = records_of(sorted_list, block);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                                 [](const auto& first, const auto& second) { return first.first < second.first; }));
      EXPECT_EQ(sorted(found), sorted(expected[block.partition]));
    }
    list.clear();
  }
}

// Keys that lie together, far apart, or both; some only once.
TEST(SortedList, is_in_order_however_keys_are_spread) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  Random random(test_seed());
  const KeyOrder order(ItemClass::int64);
  const std::vector<std::function<int64_t(int64_t)>> spreads = {
      [](int64_t) { return 7; },
      [](int64_t i) { return i % 2 == 0 ? -kMost - 1 : kMost; },
      [](int64_t i) { return 100 - i; },
      [](int64_t i) { return i == 50 ? -kMost : kMost - i % 9; },
      [&](int64_t) { return static_cast<int64_t>(random.below(1 << 20)) << random.below(40); },
  };
  for (const auto& spread : spreads)
    for (const int64_t count : {1, 2, 3, 1000}) {
      SendList list(1 << 20, order, kNoCombiner);
      std::vector<int64_t> expected;
      for (int64_t i = 0; i < count; ++i) {
        expected.push_back(spread(i));
        ASSERT_TRUE(list.add(0, 0, {bytes_of(expected.back()), ""}));
      }
      std::sort(expected.begin(), expected.end());
      SortedList sorted_list;
      sort_list(list, order, 1, sorted_list);
      std::vector<int64_t> found;
      for (const auto& [key, value] : records_of(sorted_list, sorted_list.blocks.at(0))) {
        found.push_back(0);
        std::memcpy(&found.back(), key.data(), sizeof found.back());
      }
      EXPECT_EQ(found, expected);
    }
}

// Ways to compare int64 keys, of which only the first is an order.
int in_order(const void* first, const void* second, void*) {
  const int64_t a = *static_cast<const int64_t*>(first);
  const int64_t b = *static_cast<const int64_t*>(second);
  return a < b ? -1 : a > b ? 1 : 0;
}
int always_less(const void*, const void*, void*) { return -1; }
int always_greater(const void*, const void*, void*) { return 1; }
int as_of_bool(const void* first, const void* second, void*) { return in_order(first, second, nullptr) < 0 ? 1 : 0; }
int never_greater(const void* first, const void* second, void*) {
  return in_order(first, second, nullptr) < 0 ? -1 : 0;
}
int in_a_circle(const void* first, const void* second, void*) {
  const int64_t difference = (*static_cast<const int64_t*>(second) - *static_cast<const int64_t*>(first)) % 3;
  return difference == 0 ? 0 : (difference + 3) % 3 == 1 ? -1 : 1;
}
// As a NaN among numbers.
int equal_to_multiples_of_seven(const void* first, const void* second, void*) {
  const bool is_wild = *static_cast<const int64_t*>(first) % 7 == 0 || *static_cast<const int64_t*>(second) % 7 == 0;
  return is_wild ? 0 : in_order(first, second, nullptr);
}
int at_random(const void*, const void*, void* random) {
  return static_cast<int>(static_cast<Random*>(random)->below(3)) - 1;
}

void sort_keys(KeyOrder::Function compare, int64_t count, SortedList& sorted_list) {
  Random random(test_seed());
  const KeyOrder order(ItemClass::int64, compare, &random);
  SendList list(1 << 20, order, kNoCombiner);
  for (int64_t i = 0; i < count; ++i) ASSERT_TRUE(list.add(0, 0, {bytes_of((i * 7919 + 5) % 1009), bytes_of(i)}));
  sort_list(list, order, 1, sorted_list);
}

TEST(SortedList, is_in_the_programs_order_and_equal_keys_in_that_of_their_coming) {
  for (const int64_t count : {1, 2, 3, 4, 5, 1000, 3000, 4096}) {
    SortedList sorted_list;
    sort_keys(in_order, count, sorted_list);
    std::vector<std::pair<int64_t, int64_t>> expected;
    for (int64_t i = 0; i < count; ++i) expected.emplace_back((i * 7919 + 5) % 1009, i);
    std::sort(expected.begin(), expected.end());
    std::vector<std::pair<int64_t, int64_t>> found;
    for (const auto& [key, value] : records_of(sorted_list, sorted_list.blocks.at(0))) {
      found.emplace_back();
      std::memcpy(&found.back().first, key.data(), sizeof(int64_t));
      std::memcpy(&found.back().second, value.data(), sizeof(int64_t));
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(SortedList, is_refused_where_the_program_contradicts_itself) {
  for (const KeyOrder::Function compare :
       {always_less, always_greater, as_of_bool, never_greater, in_a_circle, equal_to_multiples_of_seven, at_random})
    for (const int64_t count : {100, 5000}) {
      SortedList sorted_list;
      EXPECT_THROW(sort_keys(compare, count, sorted_list), ProgramError) << count;
    }
}

TEST(SortedList, of_an_empty_list_has_no_blocks) {
  const KeyOrder order(ItemClass::bytes);
  SendList list(1 << 12, order, kNoCombiner);
  SortedList sorted_list;
  sort_list(list, order, kPartitions, sorted_list);
  EXPECT_TRUE(sorted_list.blocks.empty());
}

TEST(SendList, refuses_what_does_not_fit_unless_it_is_empty) {
  const KeyOrder order(ItemClass::bytes);
  SendList list(4096, order, kNoCombiner);
  const TextRecord large{"key", std::string(100000, 'x')};
  ASSERT_TRUE(add(list, {"small", ""}));
  EXPECT_FALSE(add(list, large));
  EXPECT_EQ(list.entries().size(), 1u);
  list.clear();
  EXPECT_TRUE(add(list, large));
  EXPECT_FALSE(add(list, {"small", ""}));
  SortedList sorted_list;
  sort_list(list, order, kPartitions, sorted_list);
  ASSERT_EQ(sorted_list.blocks.size(), 1u);
  EXPECT_EQ(records_of(sorted_list, sorted_list.blocks[0]), std::vector{large});
}

TEST(SendList, combines_numbers_of_equal_keys_in_place) {
  Random random(test_seed());
  const KeyOrder order(ItemClass::bytes);
  const Combiner combiner(ItemClass::bytes, ItemClass::int64, add_numbers, nullptr);
  SendList list(1 << 20, order, combiner);
  std::map<std::string, int64_t> expected;
  for (int64_t i = 0; i < 50000; ++i) {
    const std::string key = random_text(random, 6);
    ASSERT_TRUE(add(list, {key, bytes_of(i)}));
    expected[key] += i;
  }
  EXPECT_EQ(list.entries().size(), expected.size());
  EXPECT_EQ(list.added_count(), 50000u);
  SortedList sorted_list;
  sort_list(list, order, kPartitions, sorted_list);
  for (const auto& block : sorted_list.blocks)
    for (const auto& [key, value] : records_of(sorted_list, block)) {
      EXPECT_EQ(value, bytes_of(expected.at(key)));
      expected.erase(key);
    }
  EXPECT_TRUE(expected.empty());
}

// Lists of many keys, whose places in the table are fetched ahead from the second list on; of few, where none is; both
// with keys of all lengths, longer ones than wait among them. Many fill a list.
template <typename Number>
void expect_sums_by_library(ItemClass number_class, uint64_t key_count) {
  Random random(test_seed());
  const KeyOrder order(ItemClass::bytes);
  const Combiner::Function add_in_place = [](const void*, void* into, const void* value, void*) -> const void* {
    *static_cast<Number*>(into) += *static_cast<const Number*>(value);
    return into;
  };
  const Combiner combiner(ItemClass::bytes, number_class, add_in_place, nullptr, Combiner::Owner::library);
  SendList list(1 << 16, order, combiner);
  SortedList sorted_list;
  for (int round = 0; round < 4; ++round) {
    std::map<std::string, Number> expected;
    uint64_t added = 0;
    for (bool is_full = false; !is_full && added < 50000;) {
      const uint64_t number = random.below(key_count);
      const std::string key = std::string(number % 70, 'k') + std::to_string(number);
      const auto value = static_cast<Number>(random.below(100));
      is_full = !add(list, {key, {reinterpret_cast<const char*>(&value), sizeof value}});
      if (is_full) continue;
      expected[key] += value;
      ++added;
    }
    EXPECT_EQ(added == 50000, key_count < 100) << "both ends are to be seen";
    EXPECT_FALSE(list.is_empty());
    EXPECT_EQ(list.added_count(), added);
    sort_list(list, order, kPartitions, sorted_list);
    EXPECT_EQ(sorted_list.records, expected.size());
    for (const auto& block : sorted_list.blocks)
      for (const auto& [key, value] : records_of(sorted_list, block)) {
        Number sum;
        ASSERT_EQ(value.size(), sizeof sum);
        std::memcpy(&sum, value.data(), sizeof sum);
        EXPECT_EQ(sum, expected.at(key)) << key;
        expected.erase(key);
      }
    EXPECT_TRUE(expected.empty());
    list.clear();
    EXPECT_TRUE(list.is_empty());
  }
}

TEST(SendList, has_the_librarys_sums_of_many_keys) {
  expect_sums_by_library<int64_t>(ItemClass::int64, 1200);
  expect_sums_by_library<int32_t>(ItemClass::int32, 1200);
}

TEST(SendList, has_the_librarys_sums_of_few_keys) { expect_sums_by_library<double>(ItemClass::real64, 90); }

TEST(SendList, is_not_empty_while_its_only_record_waits) {
  const KeyOrder order(ItemClass::bytes);
  const Combiner combiner(ItemClass::bytes, ItemClass::int64, add_numbers, nullptr, Combiner::Owner::library);
  SendList list(1 << 16, order, combiner);
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(add(list, {std::to_string(i % 6), bytes_of(1)}));
  list.clear();
  ASSERT_TRUE(add(list, {"key", bytes_of(1)}));
  EXPECT_FALSE(list.is_empty());
  list.clear();
  EXPECT_TRUE(list.is_empty());
  EXPECT_TRUE(list.entries().empty());
}

TEST(SendList, combines_values_that_grow) {
  const KeyOrder order(ItemClass::bytes);
  const Combiner combiner(ItemClass::bytes, ItemClass::bytes, append_text, nullptr);
  SendList list(1 << 12, order, combiner);
  std::string expected;
  while (add(list, {"key", "v"})) expected += "v";
  EXPECT_EQ(list.entries().size(), 1u);
  EXPECT_EQ(list.added_count(), expected.size());
  SortedList sorted_list;
  sort_list(list, order, kPartitions, sorted_list);
  EXPECT_EQ(records_of(sorted_list, sorted_list.blocks.at(0)), (std::vector<TextRecord>{{"key", expected}}));
}

TEST(SendList, stops_looking_for_equal_keys_where_there_are_none) {
  const KeyOrder order(ItemClass::bytes);
  const Combiner combiner(ItemClass::bytes, ItemClass::int64, add_numbers, nullptr);
  SendList list(1 << 16, order, combiner);
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(add(list, {std::to_string(i), bytes_of(1)}));
  list.clear();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(add(list, {"same", bytes_of(1)}));
  EXPECT_EQ(list.entries().size(), 2u);
}

}  // namespace
}  // namespace spillway::shuffle
