// sgd-serial: matrix factorization by stochastic gradient descent of a matrix that is larger than memory, written by
// hand for one process, to measure Spillway against. The matrix is cut into chunks in two dimensions, in a file of its
// own; an iteration takes them in row-major order, so that the factors of a row of chunks are read and written once,
// and those of a column of chunks once for each chunk. The next chunk is read while this one is worked on.
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "chunk_file.h"
#include "csr_file.h"
#include "factor_file.h"
#include "factor_model.h"
#include "iteration_times.h"
#include "model_options.h"
#include "option_values.h"
#include "partial_file.h"
#include "program.h"

namespace apps::sgd {
namespace {

constexpr char kHelpHead[] =
    R"(usage: sgd-serial [options] MATRIX

Factors of a matrix of ratings (binary CSR with values) by stochastic gradient descent, in one process that has two chunks
of the matrix and the factors of their rows and columns in memory, and reads everything else when it needs it.

)";

constexpr char kHelpTail[] =
    R"(  -g, --grid SIDE           cut the matrix into SIDE x SIDE chunks (default 4); two of them have to fit into memory
  -m, --memory SIZE         keep as many chunks in memory as that holds, beside the two (default 0; bytes, or with K, M, G
                            or T, as in 512M); the others are read
      --diagonal            take the chunks in the order in which sgd on SIDE x SIDE ranks takes its blocks. Then the
                            results are the same to the bit: for tests. It reads and writes more
  -h, --help                this text
)";

constexpr uint64_t kMaxSide = 1024;

struct Options : ModelOptions {
  uint64_t side = 4;
  uint64_t memory = 0;
  bool is_diagonal = false;
};

Options parse_options(int argument_count, char** arguments) {
  const std::vector<option> long_options = with_model_options({
      {"grid", required_argument, nullptr, 'g'},
      {"memory", required_argument, nullptr, 'm'},
      {"diagonal", no_argument, nullptr, 'D'},
  });
  const std::string short_options = std::string(kModelShortOptions) + "g:m:";
  Options options;
  opterr = 0;
  for (int result = 0;
       (result = getopt_long(argument_count, arguments, short_options.c_str(), long_options.data(), nullptr)) != -1;) {
    if (result == 'g') {
      options.side = parse_whole_number("--grid", optarg, 1, kMaxSide);
    } else if (result == 'm') {
      options.memory = parse_size("--memory", optarg);
    } else if (result == 'D') {
      options.is_diagonal = true;
    } else if (!take_model_option(result, optarg, options)) {
      throw refused_option(result, arguments, optind);
    }
    if (options.wants_help) {
      return options;
    }
  }
  take_matrix(argument_count, arguments, options);
  return options;
}

std::vector<Chunk> order_of_chunks(const ChunkFile& chunks, bool is_diagonal) {
  const uint64_t side = chunks.grid().side();
  std::vector<Chunk> order;
  for (uint64_t outer = 0; outer < side; ++outer) {
    for (uint64_t inner = 0; inner < side; ++inner) {
      order.push_back(is_diagonal ? chunks.chunk(inner, (inner + outer) % side) : chunks.chunk(outer, inner));
    }
  }
  return order;
}

// After the last iteration, and after each where the user wants to see it.
uint64_t error_count(const Options& options) {
  return options.reports_error && options.iterations > 0 ? options.iterations : 1;
}

class SerialFactorization {
 public:
  SerialFactorization(const Options& options, const ChunkFile& chunks)
      : model_(options.model),
        order_(order_of_chunks(chunks, options.is_diagonal)),
        side_(options.side),
        rows_(model_, Purpose::rows_factors, chunks.grid().first_rows, options.scratch_directory),
        columns_(model_, Purpose::columns_factors, chunks.grid().first_columns, options.scratch_directory),
        reader_(chunks, order_, options.iterations + error_count(options)) {}

  void iterate() {
    for (const Chunk& chunk : order_) {
      const std::span<float> row_factors = rows_.bring(chunk.row_part, FactorFile::Use::update);
      const std::span<float> column_factors = columns_.bring(chunk.column_part, FactorFile::Use::update);
      const Visit visit = {iteration_, number_of(chunk)};
      update_factors(model_, visit, reader_.next(), row_factors, column_factors);
    }
    ++iteration_;
  }

  double error(uint64_t entry_count) {
    std::vector<double> sums(order_.size());
    for (const Chunk& chunk : order_) {
      const std::span<float> row_factors = rows_.bring(chunk.row_part, FactorFile::Use::read);
      const std::span<float> column_factors = columns_.bring(chunk.column_part, FactorFile::Use::read);
      sums[number_of(chunk)] = squared_error(model_, reader_.next(), row_factors, column_factors);
    }
    return root_mean_square(sums, entry_count);
  }

  void write_factors(const std::string& prefix) {
    PartialFile row_output(prefix + ".u");
    PartialFile column_output(prefix + ".v");
    rows_.write_to(row_output.file());
    columns_.write_to(column_output.file());
    row_output.finish();
    column_output.finish();
  }

 private:
  [[nodiscard]] uint64_t number_of(const Chunk& chunk) const { return chunk.row_part * side_ + chunk.column_part; }

  const Model model_;
  const std::vector<Chunk> order_;
  const uint64_t side_;
  FactorFile rows_;
  FactorFile columns_;
  ChunkReader reader_;
  uint64_t iteration_ = 0;
};

void print_sizes(const CsrReader& matrix, const ChunkFile& chunks, uint64_t factors) {
  constexpr double kMiB = 1 << 20;
  const uint64_t factor_bytes = (matrix.row_count() + matrix.column_count()) * factors * sizeof(float);
  std::printf("matrix: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64 " entries\n", matrix.row_count(),
              matrix.column_count(), matrix.entry_count());
  std::printf("data: %.1f MiB of chunks, the largest has %.1f MiB; %.1f MiB of factors\n",
              static_cast<double>(chunks.bytes()) / kMiB, static_cast<double>(chunks.largest_shape().bytes()) / kMiB,
              static_cast<double>(factor_bytes) / kMiB);
  std::fflush(stdout);
}

void run(const Options& options) {
  const CsrReader matrix(options.matrix, kMatrixKind);
  const ChunkFile chunks(matrix, options.side, options.model.order, options.scratch_directory, options.memory);
  if (!chunks.is_direct()) {
    warn_of_page_cache("sgd-serial");
  }
  print_sizes(matrix, chunks, options.model.factors);
  SerialFactorization factorization(options, chunks);
  IterationTimes times;
  for (uint64_t done = 1; done <= options.iterations; ++done) {
    factorization.iterate();
    times.print_next();
    if (options.reports_error && done < options.iterations) {
      const double error = factorization.error(matrix.entry_count());
      std::printf("root mean square error after iteration %" PRIu64 ": %.9g\n", done, error);
      std::fflush(stdout);
      times.restart();
    }
  }
  times.print_mean();
  const double error = factorization.error(matrix.entry_count());
  std::printf("root mean square error: %.9g\n", error);
  if (!std::isfinite(error)) {
    throw std::runtime_error("the factors have grown beyond all bounds; start again with a smaller --rate");
  }
  if (!options.output.empty()) {
    factorization.write_factors(options.output);
  }
}

}  // namespace
}  // namespace apps::sgd

int main(int argument_count, char** arguments) {
  return apps::run_program(
      "sgd-serial", "not enough memory for two chunks and factors; use a larger --grid or a smaller --memory", [&] {
        const apps::sgd::Options options = apps::sgd::parse_options(argument_count, arguments);
        if (options.wants_help) {
          std::printf("%s%s%s", apps::sgd::kHelpHead, apps::sgd::model_help(), apps::sgd::kHelpTail);
          return;
        }
        apps::sgd::run(options);
      });
}
