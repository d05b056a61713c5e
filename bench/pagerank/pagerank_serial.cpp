// pagerank-serial: PageRank of a graph that is larger than memory, written by hand for one process, to measure Spillway
// against. The vectors of current and next ranks are in memory; each iteration reads the graph front to back with
// O_DIRECT, on threads that read ahead, and pushes. The same result as pagerank, but for rounding.
#include <getopt.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>

#include "blocked_sum.h"
#include "csr_file.h"
#include "direct_stream.h"
#include "highest_ranks.h"
#include "iteration_times.h"
#include "large_array.h"
#include "option_values.h"
#include "partial_file.h"
#include "program.h"

namespace apps::pagerank {
namespace {

constexpr char kHelp[] =
    R"(usage: pagerank-serial [options] GRAPH

PageRank of the vertices of GRAPH (binary CSR) in one process that holds two vectors of ranks in memory and reads the
graph from storage in every iteration.

  -i, --iterations COUNT    iterations to do at most (default 20)
  -d, --damping FACTOR      probability that a walk goes on, 0 to 1 (default 0.85)
      --tolerance CHANGE    stop after an iteration that changed the ranks by less than this in all (L1 norm)
  -o, --output FILE         write the ranks: one little-endian double per vertex
  -k, --top COUNT           print the vertices of highest rank: place, vertex and rank, separated by tabs
  -h, --help                this text
)";

struct Options {
  std::string graph;
  uint64_t iterations = 20;
  double damping = 0.85;
  double tolerance = 0;
  std::string output;
  uint64_t top_count = 0;
  bool wants_help = false;
};

Options parse_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"iterations", required_argument, nullptr, 'i'},
      {"damping", required_argument, nullptr, 'd'},
      {"tolerance", required_argument, nullptr, 'T'},
      {"output", required_argument, nullptr, 'o'},
      {"top", required_argument, nullptr, 'k'},
      {"help", no_argument, nullptr, 'h'},
      {},
  };
  Options options;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argument_count, arguments, ":i:d:o:k:h", kOptions, nullptr)) != -1;) {
    switch (result) {
      case 'i':
        options.iterations = parse_whole_number("--iterations", optarg, 0, 1000000);
        break;
      case 'd':
        options.damping = parse_fraction("--damping", optarg, 0, 1);
        break;
      case 'T':
        options.tolerance = parse_fraction("--tolerance", optarg, 0, 2);
        break;
      case 'o':
        options.output = optarg;
        break;
      case 'k':
        options.top_count = parse_whole_number("--top", optarg, 0, 1000000);
        break;
      case 'h':
        options.wants_help = true;
        return options;
      default:
        throw refused_option(result, arguments, optind);
    }
  }
  if (optind + 1 != argument_count) {
    throw UsageError("exactly one GRAPH file is needed; --help explains");
  }
  options.graph = arguments[optind];
  return options;
}

// The elements of a file's array, a stretch at a time.
template <typename T>
class ElementStream {
 public:
  ElementStream(const std::string& path, uint64_t position, uint64_t size, uint64_t pass_count)
      : stream_(path, position, position + size * sizeof(T), pass_count) {}

  std::span<const T> next() {
    const std::span<const std::byte> block = stream_.next_block();
    return {reinterpret_cast<const T*>(block.data()), block.size() / sizeof(T)};
  }
  [[nodiscard]] bool is_direct() const { return stream_.is_direct(); }

 private:
  DirectStream stream_;
};

class SerialPageRank {
 public:
  SerialPageRank(const CsrReader& graph, uint64_t iteration_count, double damping)
      : graph_(graph),
        damping_(damping),
        ranks_(graph.row_count(), 1.0 / static_cast<double>(graph.row_count())),
        next_(graph.row_count(), 0.0),
        offsets_(graph.path(), graph.header().offsets_position, graph.row_count() + 1, iteration_count),
        columns_(graph.path(), graph.header().entries_position, graph.entry_count(), iteration_count) {
    if (!offsets_.is_direct()) {
      warn_of_page_cache("pagerank-serial");
    }
  }

  // Returns the L1 difference that the iteration made.
  double advance() {
    const double dangling = push_all();
    const auto vertex_count = static_cast<double>(graph_.row_count());
    const double base = ((1 - damping_) + damping_ * dangling) / vertex_count;
    BlockedSum change;
    for (size_t vertex = 0; vertex < ranks_.size(); ++vertex) {
      const double rank = base + damping_ * next_[vertex];
      change.add(std::abs(rank - ranks_[vertex]));
      ranks_[vertex] = rank;
      next_[vertex] = 0;
    }
    ++iteration_;
    return change.total();
  }

  [[nodiscard]] std::span<const double> ranks() const { return ranks_; }

 private:
  // Returns the rank of the vertices without successors.
  double push_all() {
    BlockedSum dangling;
    uint64_t row = 0;
    uint64_t begin = 0;
    edges_seen_ = 0;
    pending_ = {};
    for (bool is_first = true; row < ranks_.size(); is_first = false) {
      const std::span<const uint64_t> offsets = offsets_.next();
      if (iteration_ == 0) {
        graph_.check_offsets(is_first ? 0 : row + 1, offsets);
      }
      for (const uint64_t end : offsets.subspan(is_first ? 1 : 0)) {
        if (iteration_ == 0 && end < begin) {
          graph_.check_offsets(row, std::array{begin, end});
        }
        if (begin == end) {
          dangling.add(ranks_[row]);
        } else {
          push(ranks_[row] / static_cast<double>(end - begin), end - begin);
        }
        begin = end;
        ++row;
      }
    }
    return dangling.total();
  }

  // Adds `contribution` to the next `edge_count` columns of the stream. (Prefetching at any distance gained nothing:
  // the processor runs ahead over these independent additions.)
  void push(double contribution, uint64_t edge_count) {
    double* const next = next_.data();
    while (edge_count > 0) {
      if (pending_.empty()) {
        pending_ = columns_.next();
        if (iteration_ == 0) {
          graph_.check_columns(edges_seen_, pending_);
        }
        edges_seen_ += pending_.size();
      }
      const size_t part = std::min<uint64_t>(edge_count, pending_.size());
      for (const uint32_t column : pending_.first(part)) {
        next[column] += contribution;
      }
      pending_ = pending_.subspan(part);
      edge_count -= part;
    }
  }

  const CsrReader& graph_;
  const double damping_;
  LargeArray<double> ranks_;
  LargeArray<double> next_;
  ElementStream<uint64_t> offsets_;
  ElementStream<uint32_t> columns_;
  std::span<const uint32_t> pending_;  // columns that are read and not yet pushed to
  uint64_t edges_seen_ = 0;            // up to the end of pending_
  uint64_t iteration_ = 0;
};

void run(const Options& options) {
  const CsrReader graph(options.graph, kGraphKind);
  SerialPageRank pagerank(graph, options.iterations, options.damping);
  std::printf("graph: %" PRIu64 " vertices, %" PRIu64 " edges\n", graph.row_count(), graph.entry_count());
  IterationTimes times;
  double change = 0;
  for (uint64_t iteration = 0; iteration < options.iterations; ++iteration) {
    change = pagerank.advance();
    times.print_next();
    if (change < options.tolerance) {
      break;
    }
  }
  times.print_mean();
  BlockedSum sum;
  for (double rank : pagerank.ranks()) {
    sum.add(rank);
  }
  std::printf("sum of ranks: %.12f\nchange in the last iteration: %.3e\n", sum.total(), change);
  if (!options.output.empty()) {
    PartialFile output(options.output);
    output.file().write_at(0, pagerank.ranks().data(), pagerank.ranks().size_bytes());
    output.finish();
  }
  for (uint64_t place = 1; const RankedVertex& ranked : highest_ranks(pagerank.ranks(), 0, options.top_count)) {
    std::printf("%" PRIu64 "\t%" PRIu64 "\t%.9e\n", place++, ranked.vertex, ranked.rank);
  }
}

}  // namespace
}  // namespace apps::pagerank

int main(int argument_count, char** arguments) {
  return apps::run_program("pagerank-serial", "not enough memory for the ranks of all vertices", [&] {
    const apps::pagerank::Options options = apps::pagerank::parse_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(apps::pagerank::kHelp, stdout);
      return;
    }
    apps::pagerank::run(options);
  });
}
