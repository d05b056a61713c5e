#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <spillway/text_files.hpp>
#include <string>
#include <vector>

#include "base/host_names.h"
#include "storage/scratch_directory.h"

namespace spillway::mpid {
namespace {

class TextFiles : public testing::Test {
 protected:
  ~TextFiles() override {
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) std::filesystem::remove_all(entry);
  }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = directory_.path() + ("/" + name);
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  static std::vector<std::string> lines_of(const std::vector<std::string>& paths, uint64_t split_bytes, int tasks) {
    const LineSplits splits(paths, split_bytes);
    std::vector<std::string> lines;
    for (int task = 0; task < tasks; ++task)
      splits.for_each_line(task, tasks, [&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }

  template <typename Function>
  static std::string message_of(Function function) {
    try {
      function();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  storage::ScratchDirectory directory_;
};

TEST_F(TextFiles, each_line_is_in_one_split_however_the_file_is_cut) {
  const std::vector<std::string> lines = {"first", "", "the third one", "", "", "x", "last"};
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  for (const bool ends_with_newline : {true, false}) {
    const std::string path = write("text", ends_with_newline ? text : text.substr(0, text.size() - 1));
    for (uint64_t split_bytes = 1; split_bytes < text.size() + 2; ++split_bytes)
      EXPECT_EQ(lines_of({path}, split_bytes, 1), lines) << split_bytes;
  }
}

TEST_F(TextFiles, a_line_may_be_longer_than_splits_and_buffers) {
  const std::string line(3 << 20, 'x');
  const std::string path = write("text", "a\n" + line + "\nb");
  EXPECT_EQ(lines_of({path}, 500000, 1), (std::vector<std::string>{"a", line, "b"}));
}

TEST_F(TextFiles, empty_files_have_no_splits_and_lines_do_not_cross_files) {
  const std::vector<std::string> paths = {write("empty", ""), write("one", "a"), write("two", "b\n"),
                                          write("newline", "\n")};
  EXPECT_EQ(LineSplits(paths, 100).size(), 3u);
  EXPECT_EQ(lines_of(paths, 100, 1), (std::vector<std::string>{"a", "b", ""}));
}

TEST_F(TextFiles, splits_are_divided_among_tasks) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(i) + "\n";
  std::vector<std::string> lines = lines_of({write("text", text)}, 10, 7);
  EXPECT_EQ(lines.size(), 100u);
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(std::unique(lines.begin(), lines.end()), lines.end());
}

TEST_F(TextFiles, a_file_that_is_not_there_is_named) {
  try {
    const LineSplits splits({directory_.path() + std::string("/none")}, 100);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/none: No such file"), std::string::npos);
  }
}

TEST_F(TextFiles, a_file_that_vanishes_before_it_is_read_is_named) {
  const std::string path = write("text", "a\n");
  const LineSplits splits({path}, 100);
  std::filesystem::remove(path);
  try {
    splits.for_each_line(0, 1, [](std::string_view) { FAIL(); });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(error.what(), "cannot read " + path + ": No such file or directory");
  }
}

TEST_F(TextFiles, a_file_that_has_changed_since_it_was_planned_is_named) {
  const std::string path = write("text", "a\nb\n");
  const LineSplits splits({path}, 2);
  ASSERT_EQ(splits.size(), 2u);
  write("text", "a\nb\nc\n");
  for (const int task : {0, 1})
    EXPECT_EQ(
        message_of([&] { splits.for_each_line(task, 2, [](std::string_view) { FAIL(); }); }),
        "cannot read " + path +
            ": it has been written to since the job first looked at it (it had 4 bytes, and has 6 now): let nobody "
            "write to the input of a job, and start the job again");
}

TEST_F(TextFiles, what_goes_wrong_in_a_line_is_said_with_its_place) {
  const std::string path = write("text", "a\n\nb\nwrong\nc");
  for (const uint64_t split_bytes : {1, 3, 100}) {
    for (const std::string wrong : {"a", "wrong", "c"}) {
      try {
        LineSplits({path}, split_bytes).for_each_line(0, 1, [&](std::string_view line) {
          if (line == wrong) throw std::runtime_error("is wrong");
        });
        FAIL();
      } catch (const std::runtime_error& error) {
        const std::string number = wrong == "a" ? "1" : wrong == "wrong" ? "4" : "5";
        EXPECT_EQ(error.what(), path + ", line " + number + ": is wrong");
      }
    }
  }
}

TEST_F(TextFiles, a_host_s_own_file_is_looked_at_when_it_is_read) {
  const std::string host = base::host_name().data();
  const std::string path = write("text", "a\nb\n");
  const std::string gone = write("gone", "");
  const LineSplits splits({host + ":" + path, write("plain", "c"), host + ":" + gone}, 1);
  EXPECT_EQ(splits.configuration(),
            (std::map<std::string, std::string>{{"MPI_D_O_TASKS", "3"}, {"MPI_D_INPUT_HOSTS", host + ",," + host}}));
  write("text", "other\nlines\n");
  std::vector<std::string> lines;
  splits.for_each_line(0, 1, [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_EQ(lines, (std::vector<std::string>{"other", "lines", "c"}));
  splits.for_each_split(0, 3, [&](const Split& split) { EXPECT_EQ(split.name(), host + ":" + path); });
  std::filesystem::remove(gone);
  const auto ignore = [](std::string_view) {};
  EXPECT_EQ(message_of([&] { splits.for_each_line(2, 3, ignore); }),
            "cannot read " + gone + ": No such file or directory");
  EXPECT_EQ(message_of([&] {
              LineSplits({"elsewhere:" + path}, 1).for_each_line(0, 1, ignore);
            }).find("cannot read elsewhere:" + path + " on another host: "),
            0u);
  EXPECT_EQ(message_of([&] { sampled_lines(splits); }).find("cannot look for samples in " + host + ":" + path), 0u);
  EXPECT_EQ(
      message_of([&] { const LineReader reader(splits[0]); }).find("cannot read " + host + ":" + path + ", which"), 0u);
  for (const std::string not_of_host : {"./a:/b", "://b", ":/b", "a:b", "a,b:/c", "a b:/c"})
    EXPECT_EQ(message_of([&] { LineSplits({not_of_host}, 1); }),
              "cannot read " + not_of_host + ": No such file or directory");
  EXPECT_EQ(message_of([&] { LineSplits({"s3://b"}, 1); }).find("cannot read s3://b: text and records are read from"),
            0u);
}

TEST_F(TextFiles, words_are_what_is_between_spaces) {
  const auto words_of = [](std::string_view line) {
    std::vector<std::string> words;
    for_each_word(line, [&](std::string_view word) { words.emplace_back(word); });
    return words;
  };
  EXPECT_EQ(words_of(" one\ttwo  \xC3\xA9\r"), (std::vector<std::string>{"one", "two", "\xC3\xA9"}));
  EXPECT_EQ(words_of(""), std::vector<std::string>());
  EXPECT_EQ(words_of("  "), std::vector<std::string>());
}

TEST_F(TextFiles, a_part_has_its_name_when_it_is_finished) {
  const std::string folder = directory_.path() + std::string("/output");
  {
    PartFile lost(folder, 3);
    lost << "lost";
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  PartFile part(folder, 3);
  part << "text " << 17 << " " << 0.1 << "\n";
  EXPECT_FALSE(std::filesystem::exists(folder + "/part-00003"));
  part.finish();
  std::ifstream file(folder + "/part-00003");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, "text 17 0.1");
}

}  // namespace
}  // namespace spillway::mpid
