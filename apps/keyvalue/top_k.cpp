// top-k: the most frequent words of each window of a stream. O tasks read lines of files, with --rate so many a second
// each; A tasks count words, and the first of them writes `window word count`.
#include <spillway/mpid.hpp>
#include <spillway/number_lines.hpp>

#include <sstream>
#include <unordered_map>

using namespace spillway::mpid;

// The k most frequent ones of lines `word count`.
std::string best_of(const std::string& lines, size_t k) {
  std::vector<std::pair<int64_t, std::string>> words;  // counts are negative: the most frequent come first
  std::istringstream in(lines);
  for (auto [word, count] = std::pair(std::string(), int64_t{0}); in >> word >> count;)
    words.emplace_back(-count, word);
  std::ranges::sort(words);
  words.resize(std::min(words.size(), k));
  std::string best;
  for (const auto& [count, word] : words) best += word + " " + std::to_string(-count) + "\n";
  return best;
}

int main(int argc, char** argv) {
  const bool has_rate = argc > 2 && std::string_view(argv[1]) == "--rate";
  char** const words = argv + (has_rate ? 3 : 1);
  return guarded_main("top-k [--rate LINES] K OUTPUT_DIRECTORY FILE...", argv + argc - words < 3, [&] {
    const LineSplits splits({words + 2, argv + argc}, 32 << 20);
    const std::string directory = words[1];
    const int64_t k = number_argument("K", words[0]);
    const double seconds = has_rate ? 1.0 / number_argument("--rate", argv[2]) : 0;  // from line to line
    const auto source = [&](int task, int tasks, auto& emit) {
      Pace pace(seconds);
      splits.for_each_line(task, tasks, [&](std::string_view line) {
        pace.wait();
        for_each_word(line, [&](std::string_view word) { emit(word, 1); });
      });
    };
    const auto sink = [&](MPI_Comm tasks, auto& windows) {
      int task = 0;
      MPI_Comm_rank(tasks, &task);
      std::optional<PartFile> output;
      if (task == 0) output.emplace(directory, 0);
      while (windows.next()) {
        std::unordered_map<std::string, int64_t> counts;
        std::string_view word;
        for (int64_t count = 0; windows.receive(word, count);) counts[std::string(word)] += count;
        std::string text;
        for (const auto& [counted, count] : counts) text += counted + " " + std::to_string(count) + "\n";
        std::istringstream best(best_of(gathered(tasks, best_of(text, k)), k));
        for (std::string line; std::getline(best, line);) *output << windows.number() << " " << line << "\n";
      }
      if (output) output->finish();
    };
    Streaming<std::string, int64_t> job{.source = source, .sink = sink, .combine = std::plus<>()};
    return job.run(argc, argv);
  });
}
