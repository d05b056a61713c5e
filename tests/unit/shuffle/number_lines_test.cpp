#include <gtest/gtest.h>

#include <fstream>
#include <spillway/number_lines.hpp>
#include <string>
#include <vector>

#include "storage/scratch_directory.h"

namespace spillway::mpid {
namespace {

class NumberLines : public testing::Test {
 protected:
  ~NumberLines() override {
    for (const std::string& path : paths_) unlink(path.c_str());
  }

  // Of files with these texts; each is in one part if there are enough bytes for it.
  LineSplits splits_of(const std::vector<std::string>& texts, uint64_t split_bytes = 1000) {
    for (const std::string& text : texts) {
      paths_.push_back(directory_.path() + ("/text-" + std::to_string(paths_.size())));
      std::ofstream(paths_.back(), std::ios::binary) << text;
    }
    return {{paths_.end() - static_cast<ptrdiff_t>(texts.size()), paths_.end()}, split_bytes};
  }

  storage::ScratchDirectory directory_;
  std::vector<std::string> paths_;
};

// The one process of a job.
struct Alone {
  static bool looks_at(size_t /*part*/) { return true; }
  static std::vector<std::string> all(const std::vector<std::string>& own) { return own; }
};

// The first of two processes: each of them looks at every second part.
struct OneOfTwo {
  explicit OneOfTwo(std::vector<std::string> other) : other_(std::move(other)) {}
  static bool looks_at(size_t part) { return part % 2 == 0; }
  [[nodiscard]] std::vector<std::string> all(std::vector<std::string> own) const {
    own.insert(own.end(), other_.begin(), other_.end());
    return own;
  }

 private:
  const std::vector<std::string> other_;
};

template <typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST_F(NumberLines, numbers_are_between_spaces_tabs_and_commas) {
  EXPECT_EQ(numbers_of_line<double>("1 -2.5\t3e2,4, 5 \r"), (std::vector<double>{1, -2.5, 300, 4, 5}));
  EXPECT_EQ(numbers_of_line<int64_t>("  9223372036854775807"), (std::vector<int64_t>{INT64_MAX}));
}

TEST_F(NumberLines, what_is_no_number_is_named) {
  EXPECT_EQ(error_of([] { numbers_of_line<double>("1 two 3"); }), "'two' is not a number");
  EXPECT_EQ(error_of([] { numbers_of_line<double>("1 2x"); }), "'2x' is not a number");
  EXPECT_EQ(error_of([] { numbers_of_line<double>("inf"); }), "'inf' is not a number");
  EXPECT_EQ(error_of([] { numbers_of_line<int64_t>("1.5"); }), "'1.5' is not a whole number");
  EXPECT_EQ(error_of([] { numbers_of_line<int64_t>("9223372036854775808"); }),
            "'9223372036854775808' is out of the range of its type");
  EXPECT_EQ(error_of([] { numbers_of_line<int64_t>(" ,\t"); }), "there is no number");
}

TEST_F(NumberLines, arguments_are_whole_numbers_from_1_on) {
  EXPECT_EQ(number_argument("N", "12"), 12);
  for (const char* text : {"0", "-1", "", "1.0", " 1", "9223372036854775808"})
    EXPECT_EQ(error_of([&] { number_argument("N", text); }),
              "N: '" + std::string(text) + "' is not a whole number from 1 on");
}

TEST_F(NumberLines, numbers_are_added_as_bytes) {
  std::vector<double> sums;
  add_numbers(sums, bytes_of_numbers({1, 2}));
  add_numbers(sums, bytes_of_numbers({0.5, -2}));
  EXPECT_EQ(sums, (std::vector<double>{1.5, 0}));
  EXPECT_EQ(numbers_of_bytes(bytes_of_numbers(sums)), sums);
}

TEST_F(NumberLines, first_rows_are_taken_across_parts_and_files) {
  const NumberRows rows = first_rows(splits_of({"1 2\n3 4\n", "", "5 6\n7 8 9\n"}, 3), 3, Alone());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows.columns(), 2u);
  EXPECT_EQ(rows[2][1], 6);
}

TEST_F(NumberLines, processes_look_for_first_rows_and_lines_together) {
  const LineSplits splits = splits_of({"1 2\n3 4\n", "5 6\n7 8\n", "9 10\n11 12\n"});
  const NumberRows rows = first_rows(splits, 5, OneOfTwo({"1 5 6", "1 7 8"}));
  ASSERT_EQ(rows.size(), 5u);
  for (size_t row = 0; row < 5; ++row) EXPECT_EQ(rows[row][0], 2 * row + 1);
  EXPECT_EQ(error_of([&] {
              first_rows(splits, 5, OneOfTwo({"1 5 6", "1 7"}));
            }),
            paths_[1] + ": 1 columns, where the first line has 2");
  const SortedNumberLines sorted(splits, OneOfTwo({"1 5 6"}));
  for (int number = 1; number < 12; ++number) EXPECT_EQ(sorted.task_of(number, 3), (number - 1) / 4);
  EXPECT_EQ(error_of([&] { SortedNumberLines(splits, OneOfTwo({"1 9"})); }),
            paths_[2] + ", line 1: lines are not sorted by their first number, or two have the same");
  EXPECT_EQ(error_of([&] { SortedNumberLines(splits, OneOfTwo({"1 0"})); }), "none");  // the other one says it
}

TEST_F(NumberLines, rows_are_written_so_that_they_can_be_read_again) {
  const NumberRows rows = first_rows(splits_of({"0.1 -3\n1e300 4\n"}), 2, Alone());
  paths_.push_back(directory_.path() + std::string("/rows"));
  rows.write(paths_.back());
  std::ifstream file(paths_.back());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "0.1 -3\n1e+300 4\n");
}

TEST_F(NumberLines, rows_have_as_many_columns_as_the_first_one) {
  const LineSplits splits = splits_of({"1 2\n3 4\n5\n"});
  EXPECT_EQ(error_of([&] { first_rows(splits, 3, Alone()); }),
            paths_[0] + ", line 3: 1 columns, where the first line has 2");
  EXPECT_EQ(error_of([&] { first_rows(splits_of({"1\n"}), 2, Alone()); }),
            "the files have 1 lines, fewer than the 2 that are needed");
}

TEST_F(NumberLines, the_first_of_the_closest_rows_is_found) {
  const NumberRows rows = first_rows(splits_of({"5 5\n0 0\n2 0\n0 0\n"}), 4, Alone());
  const double point[] = {1, 0};
  EXPECT_EQ(rows.closest_to(point), (std::pair<size_t, double>{1, 1}));
}

TEST_F(NumberLines, tasks_have_the_lines_that_they_are_said_to_have) {
  std::string text;
  for (int node = 3; node < 300; node += 3) text += std::to_string(node) + " 3\n";
  for (const uint64_t split_bytes : {1, 7, 50, 10000}) {
    const LineSplits splits = splits_of({text}, split_bytes);
    const SortedNumberLines sorted(splits, Alone());
    for (const int tasks : {1, 3, 8}) {
      size_t found = 0;
      for (int task = 0; task < tasks; ++task) {
        const NeighbourLines lines(splits, sorted, task, tasks);
        for (size_t i = 0; i < lines.size(); ++i, ++found) {
          EXPECT_EQ(sorted.task_of(lines.node(i), tasks), task);
          EXPECT_EQ(lines.index_of(lines.node(i)), i);
          EXPECT_EQ(std::vector(lines.neighbours(i).begin(), lines.neighbours(i).end()), std::vector<int64_t>{3});
        }
      }
      EXPECT_EQ(found, 99u);
    }
  }
}

TEST_F(NumberLines, lines_that_are_not_sorted_are_named_wherever_files_are_cut) {
  const std::vector<std::string> texts = {"1 1\n5 1\n4 1\n6 1\n", "2 1\n2 1\n", "1 1\n2 1\n9 1\n4 1\n5 1\n"};
  for (size_t i = 0; i < texts.size(); ++i)
    for (const uint64_t split_bytes : {1, 4, 5, 9, 100})
      for (const int tasks : {1, 2, 3}) {
        const LineSplits splits = splits_of({texts[i]}, split_bytes);
        const std::string error = error_of([&] {
          const SortedNumberLines sorted(splits, Alone());
          for (int task = 0; task < tasks; ++task) NeighbourLines(splits, sorted, task, tasks);
        });
        EXPECT_NE(error.find(": lines are not sorted by their first number"), std::string::npos) << error;
        EXPECT_EQ(error.find(paths_.back() + ", line "), 0u) << error;
      }
}

TEST_F(NumberLines, neighbours_without_a_line_are_named) {
  const LineSplits splits = splits_of({"2 4\n4\n"});
  const SortedNumberLines sorted(splits, Alone());
  const NeighbourLines lines(splits, sorted, 0, 1);
  EXPECT_TRUE(lines.neighbours(1).empty());
  for (const int64_t node : {1, 3, 5})
    EXPECT_EQ(error_of([&] { (void)lines.index_of(node); }),
              "node " + std::to_string(node) + " is a neighbour, but has no line of its own in " + paths_.front());
}

}  // namespace
}  // namespace spillway::mpid
