#include "pagerank_options.h"

#include <getopt.h>

#include "option_values.h"

namespace apps::pagerank {

namespace {

constexpr char kHelp[] =
    R"(usage: mpiexec -n RANKS pagerank [options] GRAPH

PageRank of the vertices of GRAPH, a binary CSR file as graph-convert and graph-generate write it.

  -i, --iterations COUNT    iterations to do at most (default 20)
  -d, --damping FACTOR      probability that a walk goes on, 0 to 1 (default 0.85)
      --tolerance CHANGE    stop one iteration after one that changed the ranks by less than this in all (L1 norm)
  -o, --output FILE         write the ranks: one little-endian double per vertex
  -k, --top COUNT           print the vertices of highest rank: place, vertex and rank, separated by tabs
      --progress[=STYLE]    show progress on stderr: bar, lines, or auto (default: a bar on a terminal, else lines)
      --exchange METHOD     how ranks exchange values: messages (default), or alltoallv (one collective call)
  -h, --help                this text

Prints the seconds of each iteration. Exit status: 0, 1 after a failure (the message says which rank's), 2 for a wrong
command line.
)";

// Beyond this a list is not for reading, and --output is the way to have it.
constexpr uint64_t kMaxTopCount = 1000000;

ExchangeMethod parse_exchange(const std::string& method) {
  if (method != "messages" && method != "alltoallv") {
    throw UsageError("option --exchange: '" + method + "' is none of messages, alltoallv");
  }
  return method == "messages" ? ExchangeMethod::messages : ExchangeMethod::alltoallv;
}

}  // namespace

const char* pagerank_help() { return kHelp; }

PageRankOptions parse_pagerank_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"iterations", required_argument, nullptr, 'i'},
      {"damping", required_argument, nullptr, 'd'},
      {"tolerance", required_argument, nullptr, 'T'},
      {"output", required_argument, nullptr, 'o'},
      {"top", required_argument, nullptr, 'k'},
      {"progress", optional_argument, nullptr, 'P'},
      {"exchange", required_argument, nullptr, 'E'},
      {"help", no_argument, nullptr, 'h'},
      {},
  };
  PageRankOptions options;
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
        options.top_count = parse_whole_number("--top", optarg, 0, kMaxTopCount);
        break;
      case 'P':
        options.progress = parse_progress_style(optarg);
        break;
      case 'E':
        options.exchange = parse_exchange(optarg);
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

}  // namespace apps::pagerank
