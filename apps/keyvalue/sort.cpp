// sort: the lines of text files in the order of their bytes, as `LC_ALL=C sort` has them. What part-00000 has comes
// before what part-00001 has, and so on: lines are divided by keys of a sample.
#include <spillway/key_ranges.hpp>
#include <spillway/mpid.hpp>
#include <spillway/text_files.hpp>

#include <optional>

namespace {

using Job = spillway::mpid::MapReduce<std::string, std::string>;
using spillway::mpid::LineSplits;
using spillway::mpid::Processes;

constexpr uint64_t kSplitBytes = 32 << 20;

}  // namespace

int main(int argc, char** argv) {
  return spillway::mpid::guarded_main("lines-sort OUTPUT_DIRECTORY FILE...", argc < 3, [&] {
    const LineSplits splits({argv + 2, argv + argc}, kSplitBytes);
    const std::string directory = argv[1];
    std::optional<spillway::mpid::KeyRanges> ranges;
    Job job{
        .map = [&](int task, int tasks,
                   auto& emit) { splits.for_each_line(task, tasks, [&](std::string_view line) { emit(line, {}); }); },
        .reduce =
            [&](int task, int, auto& groups) {
              spillway::mpid::PartFile output(directory, task);
              while (groups.next())
                for ([[maybe_unused]] const std::string_view nothing : groups.values()) output << groups.key() << "\n";
              output.finish();
            },
        .partition = [&](std::string_view line, std::string_view, int tasks) { return ranges->task_of(line, tasks); },
        .begin =
            [&](const Processes& processes) {
              spillway::mpid::PartFile::check(directory);
              ranges.emplace(sampled_lines(splits, processes));
            }};
    return job.run(argc, argv, splits.configuration());
  });
}
