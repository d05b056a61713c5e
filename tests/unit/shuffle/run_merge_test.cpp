#include "shuffle/run_merge.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "sample_records.h"

namespace spillway::shuffle {
namespace {

const KeyOrder order_of_bytes(ItemClass::bytes);
constexpr Combiner kNoCombiner;

RunMerge merge_of(const std::deque<shuffle::Run>& runs, const Combiner& combiner) {
  std::vector<std::unique_ptr<RunCursor>> cursors;
  cursors.reserve(runs.size());
  for (const shuffle::Run& run : runs) cursors.push_back(std::make_unique<MemoryCursor>(run));
  return {std::move(cursors), order_of_bytes, combiner};
}

std::vector<TextRecord> all_of(RunMerge merge) {
  std::vector<TextRecord> records;
  for (Record record; merge.next(record);) records.push_back(copy_of(record));
  Record record;
  EXPECT_FALSE(merge.next(record));
  return records;
}

const void* larger(const void*, void* into, const void* value, void*) {
  return *static_cast<const int64_t*>(into) < *static_cast<const int64_t*>(value) ? value : into;
}

const void* twice_as_long(const void*, void* into, const void*, void*) {
  static thread_local std::string text;
  static thread_local Bytes bytes;
  text.assign(10000, 'x');
  bytes = {text.data(), text.size()};
  static_cast<void>(into);
  return &bytes;
}

class RunMergeOf : public testing::TestWithParam<size_t> {};

TEST_P(RunMergeOf, runs_gives_all_records_in_order_and_equal_keys_in_that_of_the_runs) {
  Random random(test_seed());
  std::deque<shuffle::Run> runs;
  std::vector<TextRecord> expected;
  for (size_t i = 0; i < GetParam(); ++i) {
    std::vector<TextRecord> records = random_records(random, random.below(50), 3);
    for (TextRecord& record : records) record.second = std::to_string(1000 + i);
    records = sorted(records);
    runs.push_back(run_of(records));
    expected.insert(expected.end(), records.begin(), records.end());
  }
  EXPECT_EQ(all_of(merge_of(runs, kNoCombiner)), sorted(expected));
}

INSTANTIATE_TEST_SUITE_P(Numbers, RunMergeOf, testing::Values(0, 1, 2, 3, 4, 5, 7, 8, 16, 33, 100));

TEST(RunMerge, combines_each_key_to_one_record) {
  Random random(test_seed());
  const Combiner combiner(ItemClass::bytes, ItemClass::int64, larger, nullptr);
  std::deque<shuffle::Run> runs;
  std::map<std::string, int64_t> expected;
  for (int i = 0; i < 9; ++i) {
    std::vector<TextRecord> records;
    for (int j = 0; j < 40; ++j) {
      const auto number = static_cast<int64_t>(random.below(1000));
      const std::string key = random_text(random, 12);
      records.emplace_back(key, std::string(reinterpret_cast<const char*>(&number), sizeof number));
      expected[key] = std::max(expected[key], number);
    }
    runs.push_back(run_of(sorted(records)));
  }
  std::map<std::string, int64_t> found;
  for (const auto& [key, value] : all_of(merge_of(runs, combiner))) {
    EXPECT_EQ(found.count(key), 0u);
    std::memcpy(&found[key], value.data(), sizeof(int64_t));
  }
  EXPECT_EQ(found, expected);
}

TEST(RunMerge, does_not_combine_to_longer_records) {
  const Combiner combiner(ItemClass::bytes, ItemClass::bytes, twice_as_long, nullptr);
  std::deque<shuffle::Run> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(run_of({{"key", "value"}}));
  EXPECT_EQ(all_of(merge_of(runs, combiner)), std::vector<TextRecord>(3, {"key", "value"}));
}

}  // namespace
}  // namespace spillway::shuffle
