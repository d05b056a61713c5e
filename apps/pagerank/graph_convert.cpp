// graph-convert: turns an edge list or a Matrix Market file into the binary CSR format, in bounded memory: the text is
// read twice, first to count, then to sort the edges into buckets on disk.
#include <getopt.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "csr_builder.h"
#include "csr_file.h"
#include "edge_buckets.h"
#include "option_values.h"
#include "text_graph.h"

namespace pagerank {
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
        options.vertex_count = parse_whole_number("--vertices", optarg, 1, kMaxVertexCount);
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
  std::vector<uint64_t> count_edges() {
    std::vector<uint64_t> edges_of_block;
    uint64_t vertices_seen = 0;
    visit([&](uint64_t source, uint64_t target) {
      vertices_seen = std::max({vertices_seen, source + 1, target + 1});
      const uint64_t block = source >> kRowBlockBits;
      if (block >= edges_of_block.size()) {
        edges_of_block.resize(block + 1);
      }
      ++edges_of_block[block];
    });
    if (format_ == TextFormat::edge_list) {
      vertex_count_ = options_.vertex_count.value_or(vertices_seen);
    }
    edges_of_block.resize((vertex_count_ + (uint64_t{1} << kRowBlockBits) - 1) >> kRowBlockBits);
    return edges_of_block;
  }

  void visit(const EdgeVisitor& visit_edge) {
    const EdgeVisitor both = [&](uint64_t source, uint64_t target) {
      visit_edge(source, target);
      if (options_.is_undirected && source != target) {
        visit_edge(target, source);
      }
    };
    if (format_ == TextFormat::edge_list) {
      read_edge_list(options_.input, options_.vertex_count.value_or(kMaxVertexCount), both);
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
  const std::vector<uint64_t> edges_of_block = input.count_edges();
  CsrWriter writer(options.output, input.vertex_count());
  EdgeBuckets buckets(BucketPlan::balanced(input.vertex_count(), edges_of_block), options.output);
  EdgeBuckets::Appender appender(buckets);
  input.visit([&](uint64_t source, uint64_t target) {
    if (source >= input.vertex_count()) {
      throw std::runtime_error(options.input + " has changed while it was read");
    }
    appender.append({static_cast<uint32_t>(source), static_cast<uint32_t>(target)});
  });
  appender.flush();
  const uint64_t edge_count = build_csr(buckets, writer, options.thread_count);
  writer.finish(edge_count);
  std::printf("%s: %" PRIu64 " vertices, %" PRIu64 " edges\n", options.output.c_str(), input.vertex_count(),
              edge_count);
}

}  // namespace
}  // namespace pagerank

int main(int argument_count, char** arguments) {
  try {
    const pagerank::Options options = pagerank::parse_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(pagerank::kHelp, stdout);
      return 0;
    }
    pagerank::convert(options);
    return 0;
  } catch (const pagerank::UsageError& error) {
    std::fprintf(stderr, "graph-convert: %s\n", error.what());
    return pagerank::kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "graph-convert: %s\n", error.what());
    return pagerank::kExitFailure;
  }
}
