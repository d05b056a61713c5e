// matrix-generate: writes a document-term matrix or a matrix of ratings in the binary CSR format.
#include <getopt.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "csr_file.h"
#include "document_rows.h"
#include "option_values.h"
#include "program.h"
#include "rating_rows.h"
#include "row_source.h"
#include "weighting.h"

namespace apps::matrix {
namespace {

constexpr char kHelp[] =
    R"(usage: matrix-generate [options] KIND OUTPUT

Writes a sparse matrix to OUTPUT, in binary CSR with values of 32 bits. On one machine the same options give the same
bytes, whatever the number of threads; other C libraries and processors may round differently. KIND is one of

documents: a row for each document, a column for each term, like newspaper articles. Terms follow Zipf's law; a document
is mostly about one of the topics, each of which prefers terms of its own, so that clustering finds the topics. Values
are tf-idf, rows have Euclidean length 1, or 0 where all documents have all of the row's terms.
      --rows COUNT             documents (default 10000)
      --columns COUNT          terms (default 5000)
      --entries-per-row COUNT  mean number of different terms of a document, at most a quarter of --columns; log-normal,
                               cut off at half of --columns (default 100, or what is possible)
      --topics COUNT           topics (default 20)

ratings: a row for each user, a column for each item, like the Netflix prize's data. Activity of users and popularity of
items are power laws; ratings are 1, 2, 3, 4 or 5, made from biases, a model of low rank and noise, so that a
factorization finds the model. A user rates an item at most once.
      --rows COUNT             users (default 24000)
      --columns COUNT          items (default 900)
      --entries COUNT          ratings, exactly (default 1000000)
      --rank COUNT             rank of the model (default 8)

  -s, --seed SEED              seed of all random choices (default 1)
  -t, --threads COUNT          threads (default: one per core)
  -h, --help                   this text
)";

constexpr uint64_t kMaxMeanLength = uint64_t{1} << 24;
constexpr uint64_t kMaxTopics = uint64_t{1} << 16;
constexpr uint64_t kMaxGeneratedEntries = uint64_t{1} << 40;
constexpr uint64_t kMaxRank = 1000;

struct Options {
  std::optional<uint64_t> row_count;
  std::optional<uint64_t> column_count;
  std::optional<uint64_t> mean_length;
  std::optional<uint64_t> topic_count;
  std::optional<uint64_t> entry_count;
  std::optional<uint64_t> rank;
  uint64_t seed = 1;
  unsigned thread_count = std::max(1U, std::thread::hardware_concurrency());
  std::string kind;
  std::string output;
  bool wants_help = false;
};

Options parse_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"rows", required_argument, nullptr, 'R'},    {"columns", required_argument, nullptr, 'C'},
      {"topics", required_argument, nullptr, 'T'},  {"entries-per-row", required_argument, nullptr, 'L'},
      {"entries", required_argument, nullptr, 'E'}, {"rank", required_argument, nullptr, 'K'},
      {"seed", required_argument, nullptr, 's'},    {"threads", required_argument, nullptr, 't'},
      {"help", no_argument, nullptr, 'h'},          {},
  };
  Options options;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argument_count, arguments, ":s:t:h", kOptions, nullptr)) != -1;) {
    switch (result) {
      case 'R':
        options.row_count = parse_whole_number("--rows", optarg, 1, kMaxRowCount);
        break;
      case 'C':
        options.column_count = parse_whole_number("--columns", optarg, 1, kMaxRowCount);
        break;
      case 'L':
        options.mean_length = parse_whole_number("--entries-per-row", optarg, 1, kMaxMeanLength);
        break;
      case 'T':
        options.topic_count = parse_whole_number("--topics", optarg, 1, kMaxTopics);
        break;
      case 'E':
        options.entry_count = parse_whole_number("--entries", optarg, 0, kMaxGeneratedEntries);
        break;
      case 'K':
        options.rank = parse_whole_number("--rank", optarg, 1, kMaxRank);
        break;
      case 's':
        options.seed = parse_whole_number("--seed", optarg, 0, UINT64_MAX);
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
    throw UsageError("a KIND and an OUTPUT file are needed; --help explains");
  }
  options.kind = arguments[optind];
  options.output = arguments[optind + 1];
  return options;
}

void refuse_option(const char* name, const std::optional<uint64_t>& value, const char* kind) {
  if (value) {
    throw UsageError(std::string("option ") + name + " is for " + kind + " only");
  }
}

struct Plan {
  CsrShape shape;
  std::unique_ptr<RowSource> rows;
  uint64_t mean_length;
  Weighting weighting;
};

Plan plan_documents(const Options& options) {
  refuse_option("--entries", options.entry_count, "ratings");
  refuse_option("--rank", options.rank, "ratings");
  const CsrShape shape = {options.row_count.value_or(10000), options.column_count.value_or(5000),
                          kValueBytes<MatrixEntry>};
  // Terms are drawn until enough are different: the more of all there are in a row, the longer each takes.
  const uint64_t largest_mean = std::max<uint64_t>(shape.column_count / 4, 1);
  const uint64_t mean_length = options.mean_length.value_or(std::min<uint64_t>(100, largest_mean));
  if (mean_length > largest_mean) {
    throw UsageError("option --entries-per-row: " + std::to_string(mean_length) + " is more than " +
                     std::to_string(largest_mean) + ", a quarter of the " + std::to_string(shape.column_count) +
                     " columns; use more --columns");
  }
  const DocumentOptions documents = {shape.column_count, mean_length, options.topic_count.value_or(20), options.seed};
  return {shape, std::make_unique<DocumentRows>(documents), mean_length, {true, true}};
}

Plan plan_ratings(const Options& options) {
  refuse_option("--entries-per-row", options.mean_length, "documents");
  refuse_option("--topics", options.topic_count, "documents");
  const CsrShape shape = {options.row_count.value_or(24000), options.column_count.value_or(900),
                          kValueBytes<MatrixEntry>};
  const uint64_t entry_count = options.entry_count.value_or(1000000);
  const uint64_t rows_needed = (entry_count + shape.column_count - 1) / shape.column_count;
  if (rows_needed > shape.row_count) {
    throw UsageError("option --entries: " + std::to_string(entry_count) + " do not fit into " +
                     std::to_string(shape.row_count) + " rows of " + std::to_string(shape.column_count) + " columns");
  }
  const RatingOptions ratings = {shape.row_count, shape.column_count, entry_count, options.rank.value_or(8),
                                 options.seed};
  return {shape, std::make_unique<RatingRows>(ratings), entry_count / shape.row_count, {}};
}

Plan make_plan(const Options& options) {
  if (options.kind == "documents") {
    return plan_documents(options);
  }
  if (options.kind == "ratings") {
    return plan_ratings(options);
  }
  throw UsageError("KIND '" + options.kind + "' is none of documents, ratings");
}

void generate(const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const Plan plan = make_plan(options);
  CsrWriter writer(options.output, plan.shape);
  const uint64_t entry_count = write_rows(*plan.rows, plan.mean_length, writer, options.thread_count);
  weigh_values(writer, plan.weighting);
  writer.finish(entry_count);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("%s: %" PRIu64 " rows, %" PRIu64 " columns, %" PRIu64 " entries, %.1f s\n", options.output.c_str(),
              plan.shape.row_count, plan.shape.column_count, entry_count, elapsed.count());
}

}  // namespace
}  // namespace apps::matrix

int main(int argument_count, char** arguments) {
  return apps::run_program("matrix-generate", "not enough memory; use fewer --threads", [&] {
    const apps::matrix::Options options = apps::matrix::parse_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(apps::matrix::kHelp, stdout);
      return;
    }
    apps::matrix::generate(options);
  });
}
