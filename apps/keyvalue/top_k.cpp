// top-k: the most frequent words of each window of a stream. O tasks read lines of files, with --rate so many a second
// each; A tasks count words, and the first of them writes `window word count`.
#include <spillway/mpid.hpp>
#include <spillway/number_lines.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <sstream>
#include <thread>
#include <unordered_map>

using namespace spillway::mpid;
using Clock = std::chrono::steady_clock;
using Words = std::vector<std::pair<int64_t, std::string>>;  // counts are negative: the most frequent come first

// A source that waits passes on what it has sent, and ends windows.
void wait_until(Clock::time_point due) {
  for (; Clock::now() < due; std::this_thread::sleep_until(std::min(due, Clock::now() + std::chrono::milliseconds(1))))
    MPI_D_Flush();
}

std::string best_of(Words words, size_t k) {
  std::ranges::sort(words);
  std::string text;
  for (size_t i = 0; i < std::min(words.size(), k); ++i)
    text += words[i].second + " " + std::to_string(-words[i].first) + "\n";
  return text;
}

int main(int argc, char** argv) {
  const bool has_rate = argc > 2 && std::string_view(argv[1]) == "--rate";
  char** const words = argv + (has_rate ? 3 : 1);
  return guarded_main("top-k [--rate LINES] K OUTPUT_DIRECTORY FILE...", argv + argc - words < 3, [&] {
    const LineSplits splits({words + 2, argv + argc}, 32 << 20);
    const std::string directory = words[1];
    const int64_t k = number_argument("K", words[0]);
    const double seconds = has_rate ? 1.0 / number_argument("--rate", argv[2]) : 0;  // from line to line
    Streaming<std::string, int64_t> job{
        .source =
            [&](int task, int tasks, auto& emit) {
              double due = 0;
              const auto begin = Clock::now();
              splits.for_each_line(task, tasks, [&](std::string_view line) {
                wait_until(begin + std::chrono::nanoseconds(std::llround(1e9 * std::exchange(due, due + seconds))));
                for_each_word(line, [&](std::string_view word) { emit(word, 1); });
              });
            },
        .sink =
            [&](MPI_Comm tasks, auto& windows) {
              int task = 0;
              MPI_Comm_rank(tasks, &task);
              std::optional<PartFile> output;
              if (task == 0) output.emplace(directory, 0);
              while (windows.next()) {
                std::unordered_map<std::string, int64_t> counts;
                std::string_view word;
                for (int64_t count = 0; windows.receive(word, count);) counts[std::string(word)] += count;
                Words best;
                for (const auto& [counted, count] : counts) best.emplace_back(-count, counted);
                std::istringstream of_all(gathered(tasks, best_of(best, k)));
                best.clear();
                int64_t count = 0;
                for (std::string counted; of_all >> counted >> count;) best.emplace_back(-count, counted);
                std::istringstream lines(best_of(best, k));
                for (std::string line; std::getline(lines, line);) *output << windows.number() << " " << line << "\n";
              }
              if (output) output->finish();
            },
        .combine = std::plus<>()};
    return job.run(argc, argv);
  });
}
