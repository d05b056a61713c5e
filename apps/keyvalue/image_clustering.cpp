// image-clustering: K-means of feature vectors of pictures, as in Twister's paper. O tasks keep their vectors, and what
// bounds have ruled out; they send for each block of centers what its points sum up to. A tasks send the new centers of
// a block to the driver, and the driver all of them to everybody. The first centers are vectors from all over the
// files.
#include <getopt.h>

#include <spillway/mpid.hpp>
#include <spillway/number_lines.hpp>

#include <filesystem>

#include "center_sums.h"
#include "nearest_centers.h"
#include "picture_vectors.h"

using namespace apps::clustering;
using namespace spillway::mpid;

namespace {

constexpr int64_t kFigures = -1;  // the key of a round's figures; others are those of blocks
enum Figure : size_t { kChanged, kDistances, kCenterDistances, kVectors, kInertia, kFigureCount };

struct Options {
  std::string bounds = "none", format = "text", clusters, output;
  int64_t columns = 512, centers_of_block = 0, centers = 0, rounds = 0;
  std::vector<std::string> files;
};

constexpr int64_t kMostColumns = 1'000'000;

constexpr const char* kUsage =
    "image-clustering [--bounds none|elkan|drake-hamerly] [--format text|binary] [--columns N] [--block CENTERS] "
    "[--clusters DIRECTORY] OUTPUT_FILE CENTERS ROUNDS FILE...";

// Null where something is missing or unknown. Throws where a number is wrong.
std::unique_ptr<Options> parse(int argc, char** argv) {
  const option known[] = {{"bounds", required_argument, nullptr, 'b'},   {"format", required_argument, nullptr, 'f'},
                          {"columns", required_argument, nullptr, 'c'},  {"block", required_argument, nullptr, 'k'},
                          {"clusters", required_argument, nullptr, 'd'}, {}};
  auto options = std::make_unique<Options>();
  for (int letter = 0; (letter = getopt_long(argc, argv, "+", known, nullptr)) != -1;) {
    if (letter == 'b')
      options->bounds = optarg;
    else if (letter == 'f')
      options->format = optarg;
    else if (letter == 'c')
      options->columns = number_argument("--columns", optarg);
    else if (letter == 'k')
      options->centers_of_block = number_argument("--block", optarg);
    else if (letter == 'd')
      options->clusters = optarg;
    else
      return nullptr;
  }
  if (argc - optind < 4 || nearest_centers(options->bounds) == nullptr) return nullptr;
  if (options->format != "text" && options->format != "binary") return nullptr;
  if (options->columns > kMostColumns)
    throw std::runtime_error("--columns: at most " + std::to_string(kMostColumns) + " features are possible");
  options->output = argv[optind];
  options->centers = number_argument("CENTERS", argv[optind + 1]);
  options->rounds = number_argument("ROUNDS", argv[optind + 2]);
  options->files.assign(argv + optind + 3, argv + argc);
  return options;
}

class ImageClustering {
 public:
  explicit ImageClustering(const Options& options)
      : options_(options),
        files_(options.format == "text" ? text_vector_files(options.files, columns(options))
                                        : binary_vector_files(options.files, columns(options))),
        blocks_(static_cast<size_t>(options.centers), centers_of_block(options)),
        centers_(columns(options)),
        next_(columns(options)) {}

  [[nodiscard]] size_t tasks() const { return std::max<size_t>(files_->size(), 1); }

  // The driver's: the centers of the next round, and whether in that round vectors only say which is theirs.
  std::string state() {
    if (next_.size() == 0) next_ = files_->spread(static_cast<size_t>(options_.centers));
    std::string state(1, is_next_last_ ? '1' : '0');
    return state += next_.bytes();
  }
  void take_state(std::string_view state) {
    is_last_ = state[0] == '1';
    centers_.take(state.substr(1));
  }

  template <typename Emit>
  void map(int number, int tasks, Emit& emit) {
    const bool is_first_round = centers_.previous().size() == 0;  // and nothing was restored
    if (number == 0 && is_first_round) check_output();
    Task& task = task_of(number, tasks);
    const Assignment assignment = task.nearest->assign(task.vectors.features, centers_);
    if (is_last_) return write_clusters(task, number);
    std::vector<double> figures(kFigureCount);
    figures[kChanged] = static_cast<double>(assignment.changed);
    figures[kDistances] =
        static_cast<double>(assignment.distances + task.vectors.features.size());  // and the inertia's
    figures[kCenterDistances] = static_cast<double>(centers_.taken_distances());
    figures[kVectors] = static_cast<double>(task.vectors.features.size());
    figures[kInertia] = inertia(task.vectors.features, task.nearest->nearest(), centers_.rows());
    emit(kFigures, bytes_of_numbers(figures));
    blocks_.for_each_sum(task.vectors.features, task.nearest->nearest(), [&](size_t block, const auto& sums) {
      emit(static_cast<int64_t>(block), bytes_of_numbers(sums));
    });
  }

  template <typename Groups, typename Emit>
  void reduce(Groups& groups, Emit& emit_to_driver) {
    std::vector<double> figures(kFigureCount);
    while (groups.next()) {
      std::vector<double> sums;
      for (const auto part : groups.values()) add_numbers(groups.key() == kFigures ? figures : sums, part);
      if (groups.key() == kFigures) continue;
      const auto block = static_cast<size_t>(groups.key());
      emit_to_driver(groups.key(), blocks_.means(block, sums, centers_.rows()).bytes());
    }
    emit_to_driver(kFigures, bytes_of_numbers(figures));
  }

  template <typename Groups>
  bool drive(int round, Groups& received) {
    if (is_last_) return false;
    std::vector<double> figures(kFigureCount);
    next_ = centers_.rows();
    while (received.next())
      for (const auto part : received.values()) {
        if (received.key() == kFigures) {
          add_numbers(figures, part);
        } else {
          next_.replace(blocks_.begin(static_cast<size_t>(received.key())), part);
        }
      }
    print(round, figures);
    if (figures[kChanged] != 0 && round + 1 < options_.rounds) return true;
    write_centers();
    is_next_last_ = true;
    return !options_.clusters.empty();
  }

 private:
  struct Task {
    PictureVectors vectors;
    std::unique_ptr<NearestCenters> nearest;
  };

  static size_t columns(const Options& options) { return static_cast<size_t>(options.columns); }

  // Unless it is said: as many as have 256 KiB of sums.
  static size_t centers_of_block(const Options& options) {
    if (options.centers_of_block != 0) return static_cast<size_t>(options.centers_of_block);
    return std::max<size_t>((256 << 10) / (sizeof(double) * (1 + columns(options))), 1);
  }

  Task& task_of(int number, int tasks) {
    const auto found = tasks_.find(number);
    if (found != tasks_.end()) return found->second;
    PictureVectors vectors = files_->of_task(number, tasks);
    return tasks_.emplace(number, Task{std::move(vectors), nearest_centers(options_.bounds)}).first->second;
  }

  // Now, and not after all rounds.
  void check_output() const {
    OutputFile::check(options_.output);
    const std::string& folder = options_.clusters;
    if (folder.empty()) return;
    std::error_code error;  // of what is no directory, which is said when a part is opened there
    for (const auto& entry : std::filesystem::directory_iterator(folder, error))
      if (entry.path().filename().string().starts_with("part-"))
        throw std::runtime_error("--clusters: " + entry.path().string() +
                                 " is there already: name another directory, or remove its part files");
    PartFile::check(folder);
  }

  void write_clusters(const Task& task, int number) const {
    PartFile output(options_.clusters, number);
    for (size_t vector = 0; vector < task.vectors.places.size(); ++vector) {
      const Place& place = task.vectors.places[vector];
      for (const int32_t id : {place.picture, place.row, place.column}) output << static_cast<int64_t>(id) << " ";
      output << static_cast<int64_t>(task.nearest->nearest()[vector]) << "\n";
    }
    output.finish();
  }

  void write_centers() const {
    OutputFile output(options_.output);
    for (size_t center = 0; center < next_.size(); ++center)
      for (size_t column = 0; column < next_.columns(); ++column)
        output << next_[center][column] << (column + 1 == next_.columns() ? "\n" : " ");
    output.finish();
  }

  void print(int round, const std::vector<double>& figures) const {
    const double pairs = figures[kVectors] * static_cast<double>(options_.centers);
    std::printf("round %d: inertia %.15g, changed %.0f, distances %.6f (%.0f), between centers %.0f\n", round + 1,
                figures[kInertia], figures[kChanged], figures[kDistances] / pairs, figures[kDistances],
                figures[kCenterDistances]);
    std::fflush(stdout);
  }

  const Options& options_;
  const std::unique_ptr<VectorFiles> files_;
  const CenterBlocks blocks_;
  Centers centers_;
  bool is_last_ = false;
  FloatRows next_;  // the driver's
  bool is_next_last_ = false;
  std::map<int, Task> tasks_;
};

int run(int argc, char** argv, const Options& options) {
  ImageClustering clustering(options);
  Iteration<int64_t, std::string> job{
      .map = [&](int task, int tasks, auto&, auto& emit) { clustering.map(task, tasks, emit); },
      .reduce = [&](int, int, auto& groups, auto&, auto& to_driver) { clustering.reduce(groups, to_driver); },
      .drive = [&](int round, auto& received) { return clustering.drive(round, received); },
      .state = [&] { return clustering.state(); },
      .take_state = [&](auto state) { clustering.take_state(state); },
      .combine =
          [](auto first, auto second) {
            auto sums = numbers_of_bytes(first);
            add_numbers(sums, second);
            return bytes_of_numbers(sums);
          },
      // Blocks in turns.
      .partition = [](int64_t key, auto, int tasks) { return static_cast<int>(std::max<int64_t>(key, 0) % tasks); }};
  return job.run(argc, argv, {{MPI_D_O_TASKS, std::to_string(clustering.tasks())}});
}

}  // namespace

int main(int argc, char** argv) {
  std::unique_ptr<Options> options;
  const int status = guarded_main(kUsage, false, [&] {
    options = parse(argc, argv);
    return 0;
  });
  if (status != 0) return status;
  return guarded_main(kUsage, options == nullptr, [&] { return run(argc, argv, *options); });
}
