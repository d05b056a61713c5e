// graph-convert: turns an edge list or a Matrix Market file into the binary CSR format, in bounded memory: the text is
// read twice, first to count, then to sort the edges into buckets on disk.
#include <getopt.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "csr_builder.h"
#include "csr_file.h"
#include "entry_buckets.h"
#include "option_values.h"
#include "program.h"
#include "text_graph.h"

namespace apps::pagerank {
namespace {

constexpr char kHelp[] =
    R"(usage: graph-convert [options] INPUT OUTPUT

Writes the graph in INPUT to OUTPUT, in binary CSR. INPUT is either of
  an edge list     lines "source target", vertices counted from 0; comments start with # or %; a third number is ignored
  Matrix Market    square, coordinate; pattern, real or integer (values are ignored); general or symmetric
An edge that occurs more than once is stored once; edges from a vertex to itself are kept.

  -u, --undirected          store each edge in both directions
  -n, --vertices COUNT      vertices of an edge list (default: one more than the largest that occurs)
  -f, --format FORMAT       edges or mtx (default: mtx if the first line starts with %%MatrixMarket, else edges)
  -t, --threads COUNT       threads that sort (default: one per core)
  -h, --help                this text
)";

struct Options {
  bool is_undirected = false;
  std::optional<uint64_t> vertex_count;
  std::optional<TextFormat> format;
  unsigned thread_count = std::max(1U, std::thread::hardware_concurrency());
  std::string input;
  std::string output;
  bool wants_help = false;
};

TextFormat parse_format(const std::string& name) {
  if (name != "edges" && name != "mtx") {
    throw UsageError("option --format: '" + name + "' is none of edges, mtx");
  }
  return name == "mtx" ? TextFormat::matrix_market : TextFormat::edge_list;
}

Options parse_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"undirected", no_argument, nullptr, 'u'},   {"vertices", required_argument, nullptr, 'n'},
      {"format", required_argument, nullptr, 'f'}, {"threads", required_argument, nullptr, 't'},
      {"help", no_argument, nullptr, 'h'},         {},
  };
  Options options;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argument_count, arguments, ":un:f:t:h", kOptions, nullptr)) != -1;) {
    switch (result) {
      case 'u':
        options.is_undirected = true;
        break;
      case 'n':
        options.vertex_count = parse_whole_number("--vertices", optarg, 1, kMaxRowCount);
        break;
      case 'f':
        options.format = parse_format(optarg);
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

// The edges of the input with what the options make of them, visited the same way in both passes.
class InputGraph {
 public:
  explicit InputGraph(const Options& options)
      : options_(options), format_(options.format ? *options.format : recognize_format(options.input)) {
    if (format_ == TextFormat::matrix_market && options.vertex_count) {
      throw UsageError("option --vertices is for edge lists; a Matrix Market file says how many it has");
    }
  }

  // Counts edges by row block; afterwards vertex_count() is known.
  BucketPlan<uint32_t> plan_buckets() {
    RowBlockCounts<uint32_t> counts;
    uint64_t vertices_seen = 0;
    visit([&](uint64_t source, uint64_t target) {
      vertices_seen = std::max({vertices_seen, source + 1, target + 1});
      counts.add(source);
    });
    if (format_ == TextFormat::edge_list) {
      vertex_count_ = options_.vertex_count.value_or(vertices_seen);
    }
    return counts.plan(vertex_count_);
  }

  void visit(const EdgeVisitor& visit_edge) {
    const EdgeVisitor both = [&](uint64_t source, uint64_t target) {
      visit_edge(source, target);
      if (options_.is_undirected && source != target) {
        visit_edge(target, source);
      }
    };
    if (format_ == TextFormat::edge_list) {
      read_edge_list(options_.input, options_.vertex_count.value_or(kMaxRowCount), both);
    } else {
      read_matrix_market(
          options_.input, [&](uint64_t vertex_count) { vertex_count_ = vertex_count; }, both);
    }
  }

  [[nodiscard]] uint64_t vertex_count() const { return vertex_count_; }

 private:
  const Options& options_;
  const TextFormat format_;
  uint64_t vertex_count_ = 0;
};

void convert(const Options& options) {
  InputGraph input(options);
  BucketPlan<uint32_t> plan = input.plan_buckets();
  const uint64_t vertex_count = input.vertex_count();
  CsrWriter writer(options.output, {vertex_count, vertex_count, 0});
  EntryBuckets<uint32_t> buckets(std::move(plan), options.output);
  EntryBuckets<uint32_t>::Appender appender(buckets);
  input.visit([&](uint64_t source, uint64_t target) {
    if (source >= vertex_count || target >= vertex_count) {
      throw std::runtime_error(options.input + " has changed while it was read");
    }
    appender.append({static_cast<uint32_t>(source), static_cast<uint32_t>(target)});
  });
  appender.flush();
  const uint64_t edge_count = build_csr(buckets, writer, options.thread_count);
  writer.finish(edge_count);
  std::printf("%s: %" PRIu64 " vertices, %" PRIu64 " edges\n", options.output.c_str(), vertex_count, edge_count);
}

}  // namespace
}  // namespace apps::pagerank

int main(int argument_count, char** arguments) {
  return apps::run_program("graph-convert", "not enough memory for the buckets of rows; use fewer --threads", [&] {
    const apps::pagerank::Options options = apps::pagerank::parse_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(apps::pagerank::kHelp, stdout);
      return;
    }
    apps::pagerank::convert(options);
  });
}
