// graph-generate: writes a Kronecker graph in the binary CSR format.
#include <getopt.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "csr_builder.h"
#include "csr_file.h"
#include "kronecker.h"
#include "option_values.h"
#include "program.h"
#include "run_threads.h"

namespace apps::pagerank {
namespace {

constexpr char kHelp[] =
    R"(usage: graph-generate [options] OUTPUT

Writes a directed Kronecker graph (Graph500's parameters) of 2^SCALE vertices to OUTPUT, in binary CSR. Vertices are
numbered at random; repeated edges and edges from a vertex to itself are left out, so some fewer than
EDGE_FACTOR x 2^SCALE remain. The same options give the same bytes, whatever the number of threads.

  -s, --scale SCALE         logarithm of the number of vertices, 1 to 32 (default 16)
  -e, --edge-factor FACTOR  edges made per vertex (default 16)
      --seed SEED           seed of all random choices (default 1)
  -t, --threads COUNT       threads (default: one per core)
  -h, --help                this text
)";

struct Options {
  unsigned scale = 16;
  uint64_t edge_factor = 16;
  uint64_t seed = 1;
  unsigned thread_count = std::max(1U, std::thread::hardware_concurrency());
  std::string output;
  bool wants_help = false;
};

Options parse_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"scale", required_argument, nullptr, 's'}, {"edge-factor", required_argument, nullptr, 'e'},
      {"seed", required_argument, nullptr, 'S'},  {"threads", required_argument, nullptr, 't'},
      {"help", no_argument, nullptr, 'h'},        {},
  };
  Options options;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argument_count, arguments, ":s:e:t:h", kOptions, nullptr)) != -1;) {
    switch (result) {
      case 's':
        options.scale = parse_whole_number("--scale", optarg, 1, 32);
        break;
      case 'e':
        options.edge_factor = parse_whole_number("--edge-factor", optarg, 0, 1 << 16);
        break;
      case 'S':
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
  if (optind + 1 != argument_count) {
    throw UsageError("exactly one OUTPUT file is needed; --help explains");
  }
  options.output = arguments[optind];
  return options;
}

void generate(const Options& options) {
  const uint64_t vertex_count = uint64_t{1} << options.scale;
  const KroneckerGenerator generator(options.scale, vertex_count * options.edge_factor, options.seed);
  using Plan = BucketPlan<uint32_t>;
  const uint64_t row_block = uint64_t{1} << Plan::kRowBlockBits;
  const std::vector<uint64_t> edges_of_block((vertex_count + row_block - 1) / row_block,
                                             options.edge_factor * std::min(row_block, vertex_count));
  const auto start = std::chrono::steady_clock::now();
  CsrWriter writer(options.output, {vertex_count, vertex_count, 0});
  EntryBuckets<uint32_t> buckets(Plan::balanced(vertex_count, edges_of_block), options.output);
  std::atomic<uint64_t> next_block = 0;
  run_threads(options.thread_count, [&](unsigned) {
    EntryBuckets<uint32_t>::Appender appender(buckets);
    for (uint64_t block = next_block++; block < generator.block_count(); block = next_block++) {
      generator.make_block(block, appender);
    }
    appender.flush();
  });
  const uint64_t edge_count = build_csr(buckets, writer, options.thread_count);
  writer.finish(edge_count);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("%s: %llu vertices, %llu edges, %.1f s\n", options.output.c_str(),
              static_cast<unsigned long long>(vertex_count), static_cast<unsigned long long>(edge_count),
              elapsed.count());
}

}  // namespace
}  // namespace apps::pagerank

int main(int argument_count, char** arguments) {
  return apps::run_program("graph-generate", "not enough memory; use fewer --threads", [&] {
    const apps::pagerank::Options options = apps::pagerank::parse_options(argument_count, arguments);
    if (options.wants_help) {
      std::fputs(apps::pagerank::kHelp, stdout);
      return;
    }
    apps::pagerank::generate(options);
  });
}
