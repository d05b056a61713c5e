// matrix-convert: turns a Matrix Market or SVMlight file into the binary CSR format, in bounded memory: the text is
// read twice, first to count, then to sort the entries into buckets on disk.
#include <getopt.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "csr_builder.h"
#include "csr_file.h"
#include "entry_buckets.h"
#include "option_values.h"
#include "program.h"
#include "text_matrix.h"
#include "weighting.h"

namespace apps::matrix {
namespace {

constexpr char kHelp[] =
    R"(usage: matrix-convert [options] INPUT OUTPUT

Writes the sparse matrix in INPUT to OUTPUT, in binary CSR with values of 32 bits. INPUT is either of
  Matrix Market    coordinate; real, integer or pattern (every value is 1); general or symmetric
  SVMlight         a line "label index:value index:value ... # comment" for each row, indices counted from 1; the label
                   and pairs "qid:..." are ignored, as are empty lines; a line with a label only is an empty row; a line
                   has at most 64 MiB, some 4 million entries (rows of Matrix Market may be longer)
Entries that occur more than once are added up. Values that are not finite are refused. Each thread holds some 4 million
entries and rows (80 MiB), or a 512th of the matrix if that is more, or 256 rows if those are more.

  -c, --columns COUNT       columns of an SVMlight file (default: up to the largest index that occurs)
  -z, --zero-based          the indices of an SVMlight file are counted from 0
  -f, --format FORMAT       mtx or svmlight (default: mtx if the first line starts with %%MatrixMarket, else svmlight)
  -i, --tf-idf              multiply each value by log(rows / rows that have an entry in its column); takes 8 bytes of
                            memory for each column
  -l, --normalize           divide each row by its Euclidean length, after --tf-idf; rows without entries stay empty, and
                            rows of zeros as they are
  -t, --threads COUNT       threads that sort (default: one per core)
  -h, --help                this text
)";

struct Options {
  std::optional<uint64_t> column_count;
  bool is_zero_based = false;
  std::optional<TextFormat> format;
  Weighting weighting;
  unsigned thread_count = std::max(1U, std::thread::hardware_concurrency());
  std::string input;
  std::string output;
  bool wants_help = false;
};

TextFormat parse_format(const std::string& name) {
  if (name != "mtx" && name != "svmlight") {
    throw UsageError("option --format: '" + name + "' is none of mtx, svmlight");
  }
  return name == "mtx" ? TextFormat::matrix_market : TextFormat::svmlight;
}

Options parse_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"columns", required_argument, nullptr, 'c'}, {"zero-based", no_argument, nullptr, 'z'},
      {"format", required_argument, nullptr, 'f'},  {"tf-idf", no_argument, nullptr, 'i'},
      {"normalize", no_argument, nullptr, 'l'},     {"threads", required_argument, nullptr, 't'},
      {"help", no_argument, nullptr, 'h'},          {},
  };
  Options options;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argument_count, arguments, ":c:zf:ilt:h", kOptions, nullptr)) != -1;) {
    switch (result) {
      case 'c':
        options.column_count = parse_whole_number("--columns", optarg, 1, kMaxRowCount);
        break;
      case 'z':
        options.is_zero_based = true;
        break;
      case 'f':
        options.format = parse_format(optarg);
        break;
      case 'i':
        options.weighting.is_tf_idf = true;
        break;
      case 'l':
        options.weighting.has_normalized_rows = true;
        break;
      case 't':
        options.thread_count = parse_whole_number("--threads", optarg, 1, 1024);
        break;
      case 'h':
        options.wants_help = true;
        return options;
      default:
        throw refused_option(result, arguments, optind);
    }
  }
  if (optind + 2 != argument_count) {
    throw UsageError("an INPUT and an OUTPUT file are needed; --help explains");
  }
  options.input = arguments[optind];
  options.output = arguments[optind + 1];
  return options;
}

// The entries of the input, visited the same way in both passes.
class InputMatrix {
 public:
  explicit InputMatrix(const Options& options)
      : options_(options), format_(options.format ? *options.format : recognize_format(options.input)) {
    if (format_ == TextFormat::matrix_market && (options.column_count || options.is_zero_based)) {
      throw UsageError(std::string("option ") + (options.is_zero_based ? "--zero-based" : "--columns") +
                       " is for SVMlight files; a Matrix Market file says how many columns it has, and counts from 1");
    }
  }

  // Counts entries by row block; afterwards shape() is known.
  BucketPlan<MatrixEntry> plan_buckets() {
    RowBlockCounts<MatrixEntry> counts;
    uint64_t columns_seen = 0;
    visit([&](uint64_t row, MatrixEntry entry) {
      columns_seen = std::max(columns_seen, uint64_t{entry.column} + 1);
      counts.add(row);
    });
    if (format_ == TextFormat::svmlight) {
      shape_.column_count = options_.column_count.value_or(columns_seen);
    }
    return counts.plan(shape_.row_count);
  }

  void visit(const EntryVisitor& visit_entry) {
    if (format_ == TextFormat::svmlight) {
      shape_.row_count = read_svmlight(options_.input, options_.is_zero_based ? 0 : 1,
                                       options_.column_count.value_or(kMaxRowCount), visit_entry);
    } else {
      const auto begin = [&](uint64_t row_count, uint64_t column_count) {
        shape_.row_count = row_count;
        shape_.column_count = column_count;
      };
      read_matrix_market(options_.input, begin, visit_entry);
    }
  }

  [[nodiscard]] const CsrShape& shape() const { return shape_; }

 private:
  const Options& options_;
  const TextFormat format_;
  CsrShape shape_ = {0, 0, kValueBytes<MatrixEntry>};
};

void convert(const Options& options) {
  InputMatrix input(options);
  BucketPlan<MatrixEntry> plan = input.plan_buckets();
  const CsrShape shape = input.shape();
  CsrWriter writer(options.output, shape);
  EntryBuckets<MatrixEntry> buckets(std::move(plan), options.output);
  EntryBuckets<MatrixEntry>::Appender appender(buckets);
  input.visit([&](uint64_t row, MatrixEntry entry) {
    if (row >= shape.row_count || entry.column >= shape.column_count) {
      throw std::runtime_error(options.input + " has changed while it was read");
    }
    appender.append({static_cast<uint32_t>(row), entry});
  });
  appender.flush();
  const uint64_t entry_count = build_csr(buckets, writer, options.thread_count);
  weigh_values(writer, options.weighting);
  writer.finish(entry_count);
  std::printf("%s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64 " entries\n", options.output.c_str(),
              shape.row_count, shape.column_count, entry_count);
}

}  // namespace
}  // namespace apps::matrix

int main(int argument_count, char** arguments) {
  return apps::run_program("matrix-convert", "not enough memory for the buckets of rows; use fewer --threads", [&] {
    const apps::matrix::Options options = apps::matrix::parse_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(apps::matrix::kHelp, stdout);
      return;
    }
    apps::matrix::convert(options);
  });
}
