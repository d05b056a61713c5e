// terasort: sorts the records of the sort benchmark, 100 bytes of which the first 10 are the key. What part-00000 has
// comes before what part-00001 has, and so on: records are divided by keys of a sample.
#include <spillway/key_ranges.hpp>
#include <spillway/mpid.hpp>
#include <spillway/record_files.hpp>

#include <optional>

namespace {

using Job = spillway::mpid::MapReduce<std::string, std::string>;
using spillway::mpid::Processes;
using spillway::mpid::RecordSplits;

constexpr uint64_t kSplitBytes = 32 << 20;
constexpr size_t kRecordBytes = 100;
constexpr size_t kKeyBytes = 10;

}  // namespace

int main(int argc, char** argv) {
  return spillway::mpid::guarded_main("terasort OUTPUT_DIRECTORY FILE...", argc < 3, [&] {
    const RecordSplits splits({argv + 2, argv + argc}, kRecordBytes, kSplitBytes);
    const std::string directory = argv[1];
    std::optional<spillway::mpid::KeyRanges> ranges;
    Job job{.map =
                [&](int task, int tasks, auto& emit) {
                  splits.for_each_record(task, tasks, [&](std::string_view record) {
                    emit(record.substr(0, kKeyBytes), record.substr(kKeyBytes));
                  });
                },
            .reduce =
                [&](int task, int, auto& groups) {
                  spillway::mpid::PartFile output(directory, task);
                  while (groups.next())
                    for (const std::string_view payload : groups.values()) output << groups.key() << payload;
                  output.finish();
                },
            .partition = [&](std::string_view key, std::string_view, int tasks) { return ranges->task_of(key, tasks); },
            .begin =
                [&](const Processes& processes) {
                  spillway::mpid::PartFile::check(directory);
                  ranges.emplace(sampled_keys(splits, kKeyBytes, processes));
                }};
    return job.run(argc, argv, splits.configuration());
  });
}
