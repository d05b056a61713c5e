#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <spillway/key_ranges.hpp>
#include <spillway/record_files.hpp>
#include <string>
#include <vector>

#include "storage/scratch_directory.h"

namespace spillway::mpid {
namespace {

class RecordFiles : public testing::Test {
 protected:
  ~RecordFiles() override {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) std::filesystem::remove(entry);
  }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = directory_.path() + ("/" + name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  static std::vector<std::string> records_of(const RecordSplits& splits, int tasks) {
    std::vector<std::string> records;
    for (int task = 0; task < tasks; ++task)
      splits.for_each_record(task, tasks, [&](std::string_view record) { records.emplace_back(record); });
    return records;
  }

  static std::string message_of(const std::function<void()>& failing) {
    try {
      failing();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  storage::ScratchDirectory directory_;
};

TEST_F(RecordFiles, each_record_is_in_one_split_however_the_file_is_cut) {
  const std::string path = write("records", "aaabbbcccdddeeefff");
  const std::vector<std::string> expected = {"aaa", "bbb", "ccc", "ddd", "eee", "fff"};
  for (uint64_t split_bytes = 1; split_bytes < 20; ++split_bytes)
    EXPECT_EQ(records_of(RecordSplits({path}, 3, split_bytes), 1), expected) << split_bytes;
}

TEST_F(RecordFiles, splits_are_divided_among_tasks_and_no_larger_than_they_may_be) {
  std::string text(10000, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i / 100);
  const RecordSplits splits({write("first", text), write("empty", ""), write("second", text)}, 10, 700);
  for (size_t i = 0; i < splits.size(); ++i) EXPECT_LE(splits[i].end - splits[i].begin, 700u);
  std::vector<std::string> records = records_of(splits, 7);
  EXPECT_EQ(records.size(), 2000u);
  std::sort(records.begin(), records.end());
  for (size_t i = 0; i < records.size(); ++i) EXPECT_EQ(records[i], std::string(10, static_cast<char>(i / 20)));
}

TEST_F(RecordFiles, records_may_be_longer_than_splits_and_blocks) {
  const std::string record(3 << 20, 'x');
  EXPECT_EQ(records_of(RecordSplits({write("records", record + record)}, 3 << 20, 1000), 2),
            (std::vector<std::string>{record, record}));
}

TEST_F(RecordFiles, a_file_that_ends_within_a_record_is_named) {
  const std::string path = write("cut", "aaabb");
  EXPECT_EQ(message_of([&] { const RecordSplits splits({path}, 3, 100); }),
            "cannot read " + path + ": its 5 bytes are no whole number of records of 3 bytes");
}

TEST_F(RecordFiles, a_file_that_has_changed_since_it_was_planned_is_named) {
  const std::string path = write("records", "aaabbbccc");
  const RecordSplits splits({path}, 3, 100);
  const std::string cause = "cannot read " + path + ": it has been written to since the job first looked at it";
  const std::string remedy = ": let nobody write to the input of a job, and start the job again";
  std::filesystem::resize_file(path, 4);
  EXPECT_EQ(message_of([&] { records_of(splits, 1); }), cause + " (it had 9 bytes, and has 4 now)" + remedy);
  write("records", "aaabbbcccddd");
  EXPECT_EQ(message_of([&] { records_of(splits, 1); }), cause + " (it had 9 bytes, and has 12 now)" + remedy);
  write("records", "dddbbbccc");
  std::filesystem::last_write_time(path, std::filesystem::file_time_type{});
  EXPECT_EQ(message_of([&] { records_of(splits, 1); }), cause + remedy);
  EXPECT_EQ(message_of([&] { sampled_keys(splits, 1); }), cause + remedy);
  EXPECT_EQ(records_of(RecordSplits({path}, 3, 100), 1), (std::vector<std::string>{"ddd", "bbb", "ccc"}));
}

TEST_F(RecordFiles, a_file_that_changes_while_it_is_read_is_named) {
  const std::string path = write("records", std::string(3 << 20, 'x'));
  for (const uint64_t bytes : {(3 << 20) + 3, 3}) {
    uint64_t records = 0;
    const std::string message = message_of([&] {
      RecordSplits({path}, 3, 100 << 20).for_each_record(0, 1, [&](std::string_view) {
        if (++records == 10) std::filesystem::resize_file(path, bytes);
      });
    });
    EXPECT_EQ(message.find("cannot read " + path + ": it has been written to since the job first looked at it"), 0u);
    EXPECT_LT(records, 1u << 20);
    std::filesystem::resize_file(path, 3 << 20);
  }
}

TEST_F(RecordFiles, part_of_a_file_that_ends_before_it_is_refused) {
  const std::string path = write("records", "aaabbb");
  RecordReader records({path, 0, 9, false, "", {}}, 3);
  EXPECT_EQ(message_of([&] {
              for (std::string_view record; records.next(record);) {
              }
            }),
            "cannot read " + path + ": it has become shorter than 9 bytes");
}

TEST_F(RecordFiles, sampled_keys_come_from_everywhere) {
  std::string text;
  for (int i = 99999; i >= 0; --i) text += std::to_string(100000 + i);
  const std::vector<std::string> sample = sampled_keys(RecordSplits({write("records", text)}, 6, 100000), 4);
  ASSERT_GT(sample.size(), 1000u);
  EXPECT_TRUE(std::is_sorted(sample.begin(), sample.end()));
  for (size_t i = 0; i < sample.size(); ++i)
    EXPECT_NEAR(std::stod(sample[i]), 1000.0 + 1000.0 * static_cast<double>(i) / static_cast<double>(sample.size()),
                20);
}

TEST(KeyRanges, divide_a_sample_evenly_and_keep_the_order) {
  std::vector<std::string> sample;
  for (int i = 1000; i < 2000; ++i) sample.push_back(std::to_string(i));
  const KeyRanges ranges(sample);
  for (const int tasks : {1, 2, 3, 7, 1000, 1500}) {
    std::vector<int> keys(tasks, 0);
    int last = 0;
    for (const std::string& key : sample) {
      const int task = ranges.task_of(key, tasks);
      ASSERT_GE(task, last);
      ASSERT_LT(task, tasks);
      ++keys[task];
      last = task;
    }
    for (const int count : keys) EXPECT_LE(count, 1000 / tasks + 1);
    EXPECT_EQ(ranges.task_of("", tasks), 0);
    EXPECT_EQ(ranges.task_of("zzz", tasks), tasks - 1);
  }
}

TEST(KeyRanges, of_an_empty_or_a_uniform_sample_use_one_task_for_each_key) {
  EXPECT_EQ(KeyRanges({}).task_of("key", 5), 0);
  const KeyRanges ranges({"key", "key", "key", "key"});
  EXPECT_EQ(ranges.task_of("a", 5), 0);
  EXPECT_EQ(ranges.task_of("key", 5), 4);
}

}  // namespace
TEST_F(RecordFiles, what_the_function_throws_is_said_with_file_and_record) {
  const std::string path = write("records", "one two bad ten ");
  for (const uint64_t split_bytes : {4, 100})
    EXPECT_EQ(message_of([&] {
                RecordSplits({path}, 4, split_bytes).for_each_record(0, 1, [](std::string_view record) {
                  if (record == "bad ") throw std::runtime_error("as it was told");
                });
              }),
              path + ", record 2 (byte 8): as it was told");
}

}  // namespace spillway::mpid
