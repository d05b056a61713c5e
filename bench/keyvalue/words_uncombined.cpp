// words-uncombined: how often each word is in text files, as wordcount has it, but every single word is sent. So all
// that was read is intermediate data.
#include <spillway/mpid.hpp>
#include <spillway/text_files.hpp>

#include <cstdio>
#include <exception>

namespace {

using Job = spillway::mpid::MapReduce<std::string, int64_t>;
using spillway::mpid::LineSplits;

constexpr uint64_t kSplitBytes = 32 << 20;

template <typename Emit>
void emit_words(std::string_view line, Emit& emit) {
  while (!line.empty()) {
    const size_t size = std::min(line.find(' '), line.size());
    if (size != 0) emit(line.substr(0, size), 1);
    line.remove_prefix(std::min(size + 1, line.size()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fputs("usage: mpidrun [options] words-uncombined OUTPUT_DIRECTORY FILE...\n", stderr), 2;
  try {
    const LineSplits splits({argv + 2, argv + argc}, kSplitBytes);
    const std::string directory = argv[1];
    Job job{.map =
                [&](int task, int tasks, auto& emit) {
                  splits.for_each_line(task, tasks, [&](std::string_view line) { emit_words(line, emit); });
                },
            .reduce =
                [&](int task, int, auto& groups) {
                  spillway::mpid::PartFile output(directory, task);
                  while (groups.next()) {
                    int64_t count = 0;
                    for (const int64_t part : groups.values()) count += part;
                    output << groups.key() << "\t" << count << "\n";
                  }
                  output.finish();
                }};
    return job.run(argc, argv, {{MPI_D_O_TASKS, std::to_string(std::max<size_t>(splits.size(), 1))}});
  } catch (const std::exception& error) {
    return std::fprintf(stderr, "words-uncombined: %s\n", error.what()), 1;
  }
}
