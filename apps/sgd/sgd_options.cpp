#include "sgd_options.h"

#include "option_values.h"

namespace apps::sgd {

namespace {

constexpr char kHelpHead[] =
    R"(usage: mpiexec -n RANKS sgd [options] MATRIX

Factors of a matrix of ratings by stochastic gradient descent: MATRIX (binary CSR with values, as matrix-convert and
matrix-generate write it) is approximated by the product of a factor matrix of its rows and one of its columns. RANKS is
a square q x q: each rank has one of q x q blocks, and of those q at a time are worked on.

)";

constexpr char kHelpTail[] =
    R"(      --blocks WHERE        where a rank's block is while other ranks work:
                              memory      in the rank's memory (default)
                              file        in a scratch file of the rank, read before its step and dropped after
                              controlled  in memory, and Spillway is told when it is needed and when not any more;
                                          without Spillway the same as memory
      --progress[=STYLE]    show progress on stderr: bar, lines, or auto (default: a bar on a terminal, else lines)
  -h, --help                this text

Prints the seconds of each iteration. Exit status: 0, 1 after a failure (the message says which rank's), 2 for a wrong
command line or number of ranks.
)";

PlaceKind parse_blocks(const std::string& where) {
  if (where != "memory" && where != "file" && where != "controlled") {
    throw UsageError("option --blocks: '" + where + "' is none of memory, file, controlled");
  }
  return where == "memory" ? PlaceKind::memory : where == "file" ? PlaceKind::file : PlaceKind::controlled;
}

}  // namespace

std::string sgd_help() { return std::string(kHelpHead) + model_help() + kHelpTail; }

SgdOptions parse_sgd_options(int argument_count, char** arguments) {
  const std::vector<option> long_options = with_model_options({
      {"blocks", required_argument, nullptr, 'B'},
      {"progress", optional_argument, nullptr, 'P'},
  });
  SgdOptions options;
  opterr = 0;
  for (int result = 0;
       (result = getopt_long(argument_count, arguments, kModelShortOptions, long_options.data(), nullptr)) != -1;) {
    if (result == 'B') {
      options.blocks = parse_blocks(optarg);
    } else if (result == 'P') {
      options.progress = parse_progress_style(optarg);
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

}  // namespace apps::sgd
