#include "shuffle/run_merge.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>

#include "sample_records.h"
#include "shuffle/program_error.h"

namespace spillway::shuffle {
namespace {

const KeyOrder order_of_bytes(ItemClass::bytes);
constexpr Combiner kNoCombiner;

RunMerge merge_of(const std::deque<shuffle::Run>& runs, const Combiner& combiner,
                  const KeyOrder& order = order_of_bytes) {
  std::vector<std::unique_ptr<RunCursor>> cursors;
  cursors.reserve(runs.size());
  for (const shuffle::Run& run : runs) cursors.push_back(std::make_unique<MemoryCursor>(run));
  return {std::move(cursors), order, combiner};
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

int by_first_byte(const void* first, const void* second, void*) {
  const auto byte = [](const void* item) { return *static_cast<const char*>(static_cast<const Bytes*>(item)->data); };
  return byte(first) - byte(second);
}

int throw_at_c(const void* first, const void* second, void*) {
  if (*static_cast<const char*>(static_cast<const Bytes*>(first)->data) == 'c') throw 7;
  return by_first_byte(first, second, nullptr);
}

TEST(RunMerge, gives_keys_that_the_program_calls_equal_in_the_order_of_the_runs) {
  const KeyOrder order(ItemClass::bytes, by_first_byte);
  std::deque<shuffle::Run> runs;
  runs.push_back(run_of({{"a2", "1"}, {"a1", "2"}, {"c1", "3"}}));
  runs.push_back(run_of({{"a3", "4"}, {"b", "5"}, {"c0", "6"}}));
  const std::vector<TextRecord> expected = {{"a2", "1"}, {"a1", "2"}, {"a3", "4"},
                                            {"b", "5"},  {"c1", "3"}, {"c0", "6"}};
  EXPECT_EQ(all_of(merge_of(runs, kNoCombiner, order)), expected);
}

TEST(RunMerge, refuses_keys_that_descend_in_the_programs_order) {
  const KeyOrder order(ItemClass::bytes, by_first_byte);
  const Combiner combiner(ItemClass::bytes, ItemClass::int64, larger, nullptr);
  std::deque<shuffle::Run> runs;
  runs.push_back(run_of({{"a", "12345678"}, {"c\n", "12345678"}, {"b", "12345678"}}));
  for (const Combiner& each : {kNoCombiner, combiner}) try {
      all_of(merge_of(runs, each, order));
      ADD_FAILURE() << "nothing was refused";
    } catch (const ProgramError& error) {
      EXPECT_NE(std::string(error.what()).find("contradicts itself about the keys 'c\\x0a' and 'b': "),
                std::string::npos)
          << error.what();
    }
}

TEST(RunMerge, says_which_function_has_thrown_at_which_keys) {
  const KeyOrder order(ItemClass::bytes, throw_at_c);
  std::deque<shuffle::Run> runs;
  runs.push_back(run_of({{"c" + std::string(100, 'x'), ""}}));
  runs.push_back(run_of({{"b", ""}}));
  try {
    all_of(merge_of(runs, kNoCombiner, order));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ProgramError& error) {
    const std::string key = "'c" + std::string(38, 'x') + "...'";
    const std::string text = error.what();
    EXPECT_NE(text.find("compare function, called with " + key + " and 'b', has thrown: what is no std::exception"),
              std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace spillway::shuffle
