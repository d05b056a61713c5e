// kmeans-serial: spherical K-means of a matrix that is larger than memory, written by hand for one process, to measure
// Spillway against. Centroids and the sums of the next ones are in memory; each iteration reads the matrix front to
// back with O_DIRECT, on a thread that reads ahead, and the clusters of the rows from a file, to which it writes the
// new ones back. The matrix is read from a scratch file with rows of unit length, which is written before the first
// iteration. The same result as kmeans, bit by bit.
#include <getopt.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "centroids.h"
#include "cluster_sweep.h"
#include "csr_file.h"
#include "first_centroids.h"
#include "iteration_times.h"
#include "option_values.h"
#include "partial_file.h"
#include "program.h"
#include "scratch_file.h"
#include "unit_row_file.h"

namespace apps::kmeans {
namespace {

constexpr char kHelp[] =
    R"(usage: kmeans-serial [options] --output FILE MATRIX

Spherical K-means of the rows of MATRIX (binary CSR with values) in one process that holds the centroids in memory, and
reads the matrix and the clusters of its rows from storage in every iteration.

  -k, --clusters COUNT      number of clusters (default 100)
  -i, --iterations COUNT    iterations to do at most (default 20); the last is one that reassigns no row
  -s, --seed NUMBER         which rows are the first centroids (default 1)
  -o, --output FILE         write the clusters: one little-endian 32-bit integer per row, from 0; -1 for none. They are
                            in FILE.partial during the run
  -m, --memory SIZE         keep that much of the rows in memory between iterations, beside centroids and sums (default 0;
                            bytes, or with K, M, G or T, as in 512M); the rest is read
      --scratch-dir FOLDER  where the scratch file with the rows goes, which has no name and about the size of MATRIX
                            (default: $TMPDIR, or else /var/tmp)
  -h, --help                this text
)";

struct Options {
  std::string matrix;
  uint64_t clusters = 100;
  uint64_t iterations = 20;
  uint64_t seed = 1;
  std::string output;
  uint64_t memory = 0;
  std::string scratch_directory = default_scratch_directory();
  bool wants_help = false;
};

Options parse_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"clusters", required_argument, nullptr, 'k'}, {"iterations", required_argument, nullptr, 'i'},
      {"seed", required_argument, nullptr, 's'},     {"output", required_argument, nullptr, 'o'},
      {"memory", required_argument, nullptr, 'm'},   {"scratch-dir", required_argument, nullptr, 'S'},
      {"help", no_argument, nullptr, 'h'},           {},
  };
  Options options;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argument_count, arguments, ":k:i:s:o:m:h", kOptions, nullptr)) != -1;) {
    switch (result) {
      case 'k':
        options.clusters = parse_whole_number("--clusters", optarg, 1, 1000000);
        break;
      case 'i':
        options.iterations = parse_whole_number("--iterations", optarg, 1, 1000000);
        break;
      case 's':
        options.seed = parse_whole_number("--seed", optarg, 0, std::numeric_limits<uint64_t>::max());
        break;
      case 'o':
        options.output = optarg;
        break;
      case 'm':
        options.memory = parse_size("--memory", optarg);
        break;
      case 'S':
        options.scratch_directory = optarg;
        break;
      case 'h':
        options.wants_help = true;
        return options;
      default:
        throw refused_option(result, arguments, optind);
    }
  }
  if (optind + 1 != argument_count) {
    throw UsageError("exactly one MATRIX file is needed; --help explains");
  }
  if (options.output.empty()) {
    throw UsageError("option --output is needed: the clusters are in a file during the run, too");
  }
  options.matrix = arguments[optind];
  return options;
}

// The clusters of all rows, in a file, of which a piece is in memory: rows are passed in order.
class ClusterFile {
 public:
  // All rows are without a cluster.
  ClusterFile(const std::string& path, uint64_t row_count) : output_(path), row_count_(row_count) {
    while (next_row_ < row_count_) {
      piece_.assign(std::min(row_count_ - next_row_, kPieceRows), kNoCluster);
      next_row_ += piece_.size();
      write_back();
    }
    begin_pass();
  }

  void begin_pass() {
    piece_.clear();
    next_row_ = 0;
  }
  // REQUIRES: in a pass, the next row each time. Valid until the next call.
  int32_t& of_row(uint64_t row) {
    if (row == next_row_) {
      write_back();
      piece_.resize(std::min(row_count_ - next_row_, kPieceRows));
      output_.file().read_at(next_row_ * sizeof(int32_t), piece_.data(), piece_.size() * sizeof(int32_t));
      next_row_ += piece_.size();
    }
    return piece_[row - (next_row_ - piece_.size())];
  }
  // Of the piece in memory: at the end of a pass.
  void write_back() {
    output_.file().write_at((next_row_ - piece_.size()) * sizeof(int32_t), piece_.data(),
                            piece_.size() * sizeof(int32_t));
  }
  void finish() { output_.finish(); }

 private:
  static constexpr uint64_t kPieceRows = uint64_t{1} << 18;  // 1 MiB

  PartialFile output_;
  const uint64_t row_count_;
  std::vector<int32_t> piece_;
  uint64_t next_row_ = 0;  // behind the piece
};

void run(const Options& options) {
  const CsrReader matrix(options.matrix, kMatrixKind);
  Centroids centroids = centroids_at(matrix, draw_rows(matrix, options.clusters, options.seed));
  const UnitRowFile rows(matrix, 0, matrix.row_count(), options.scratch_directory, options.memory);
  if (!rows.is_direct()) {
    warn_of_page_cache("kmeans-serial");
  }
  ClusterFile clusters(options.output, matrix.row_count());
  RowStream stream(rows, options.iterations);
  ClusterSums sums(centroids.shape(), matrix.row_count());
  std::printf("matrix: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64 " entries; %" PRIu64 " clusters\n",
              matrix.row_count(), matrix.column_count(), matrix.entry_count(), options.clusters);
  IterationTimes times;
  for (uint64_t iteration = 0; iteration < options.iterations; ++iteration) {
    sums.clear();
    ClusterSweep sweep(centroids, sums);
    clusters.begin_pass();
    stream.sweep(
        [&](uint64_t row, std::span<const MatrixEntry> entries) { sweep.visit(entries, clusters.of_row(row)); });
    clusters.write_back();
    sums.update(centroids);
    times.print_next();
    std::printf("rows reassigned: %" PRIu64 "\n", sums.reassigned_rows());
    if (sums.reassigned_rows() == 0) {
      break;
    }
  }
  clusters.finish();
  times.print_mean();
  std::printf("objective: %.9e\n", sums.objective());
}

}  // namespace
}  // namespace apps::kmeans

int main(int argument_count, char** arguments) {
  return apps::run_program(
      "kmeans-serial", "not enough memory for centroids and sums; use a smaller --clusters or --memory", [&] {
        const apps::kmeans::Options options = apps::kmeans::parse_options(argument_count, arguments);
        if (options.wants_help) {
          std::fputs(apps::kmeans::kHelp, stdout);
          return;
        }
        apps::kmeans::run(options);
      });
}
