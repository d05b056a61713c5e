// inverted-index: in which text files each word is. Words are what is between spaces and other control characters. A
// key is a word, a NUL and a file: so keys come in the order of the output, and combining leaves one of each.
#include <spillway/mpid.hpp>
#include <spillway/text_files.hpp>

namespace {

using spillway::mpid::for_each_word;
using Job = spillway::mpid::MapReduce<std::string, int32_t>;

constexpr uint64_t kSplitBytes = 32 << 20;

std::string_view word_of(std::string_view key) { return key.substr(0, key.find('\0')); }

void write_index(const std::string& directory, int task, spillway::mpid::Groups<std::string, int32_t>& groups) {
  spillway::mpid::PartFile output(directory, task);
  std::string last;
  while (groups.next()) {
    const std::string_view key = groups.key();
    const std::string_view word = word_of(key);
    if (word != last) output << (last.empty() ? "" : "\n") << word;
    output << (word != last ? "\t" : ",") << key.substr(word.size() + 1);
    last = word;
  }
  output << (last.empty() ? "" : "\n");
  output.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return spillway::mpid::guarded_main("inverted-index OUTPUT_DIRECTORY FILE...", argc < 3, [&] {
    const spillway::mpid::LineSplits splits({argv + 2, argv + argc}, kSplitBytes);
    const std::string directory = argv[1];
    const auto emit_words = [](const spillway::mpid::Split& split, const auto& emit) {
      std::string key;
      spillway::mpid::LineReader lines(split);
      for (std::string_view line; lines.next(line);)
        for_each_word(line, [&](std::string_view word) { emit((key = word).append(1, '\0').append(split.name()), 0); });
    };
    Job job{
        .map = [&](int task, int tasks,
                   auto& emit) { splits.for_each_split(task, tasks, [&](auto& split) { emit_words(split, emit); }); },
        .reduce = [&](int task, int, auto& groups) { write_index(directory, task, groups); },
        .combine = [](int32_t, int32_t) { return 0; },
        .partition =
            [](std::string_view key, int32_t, int tasks) {
              return static_cast<int>(std::hash<std::string_view>()(word_of(key)) % static_cast<size_t>(tasks));
            },
        .begin = [&](auto) { spillway::mpid::PartFile::check(directory); }};
    return job.run(argc, argv, splits.configuration());
  });
}
