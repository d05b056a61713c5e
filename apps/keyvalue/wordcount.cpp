// wordcount: how often each word is in text files. Words are what is between spaces, tabs and other control characters.
#include <spillway/mpid.hpp>
#include <spillway/text_files.hpp>

#include <functional>

namespace {

using spillway::mpid::for_each_word;
using spillway::mpid::Groups;
using Job = spillway::mpid::MapReduce<std::string, int64_t>;

constexpr uint64_t kSplitBytes = 32 << 20;

void write_counts(const std::string& directory, int task, Groups<std::string, int64_t>& groups) {
  spillway::mpid::PartFile output(directory, task);
  while (groups.next()) output << groups.key() << "\t" << groups.sum() << "\n";
  output.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return spillway::mpid::guarded_main("wordcount OUTPUT_DIRECTORY FILE...", argc < 3, [&] {
    const spillway::mpid::LineSplits splits({argv + 2, argv + argc}, kSplitBytes);
    const std::string directory = argv[1];
    Job job{.map =
                [&](int task, int tasks, auto& emit) {
                  splits.for_each_line(task, tasks, [&](std::string_view line) {
                    for_each_word(line, [&](std::string_view word) { emit(word, 1); });
                  });
                },
            .reduce = [&](int task, int, auto& groups) { write_counts(directory, task, groups); },
            .combine = std::plus<>(),
            .begin = [&](auto) { spillway::mpid::PartFile::check(directory); }};
    return job.run(argc, argv, splits.configuration());
  });
}
