#include "kmeans_options.h"

#include <getopt.h>

#include <limits>

#include "option_values.h"

namespace apps::kmeans {

namespace {

constexpr char kHelp[] =
    R"(usage: mpiexec -n RANKS kmeans [options] MATRIX

Spherical K-means: clusters the rows of MATRIX, a binary CSR file with values as matrix-convert and matrix-generate
write it, by their directions. Rows are scaled to length 1; those without entries belong to no cluster.

  -k, --clusters COUNT      number of clusters (default 100)
  -i, --iterations COUNT    iterations to do at most (default 20); the last is one that reassigns no row
  -s, --seed NUMBER         which rows are the first centroids (default 1)
  -o, --output FILE         write the clusters: one little-endian 32-bit integer per row, from 0; -1 for none
      --rows PLACE          where ranks have their rows: memory (default); file, to read them in every iteration from a
                            scratch file; or controlled: in memory, and Spillway is told when they are needed
      --scratch-dir FOLDER  where scratch files go, which have no name (default: $TMPDIR, or else /var/tmp)
      --progress[=STYLE]    show progress on stderr: bar, lines, or auto (default: a bar on a terminal, else lines)
  -h, --help                this text

Prints the seconds of each iteration and the rows that it reassigned, and in the end the objective: the sum of all rows'
similarities (cosines) with their centroids. All results are the same for any number of ranks. Exit status: 0, 1 after a
failure (the message says which rank's), 2 for a wrong command line.
)";

RowPlace parse_rows(const std::string& place) {
  if (place != "memory" && place != "file" && place != "controlled") {
    throw UsageError("option --rows: '" + place + "' is none of memory, file, controlled");
  }
  return place == "memory" ? RowPlace::memory : place == "file" ? RowPlace::file : RowPlace::controlled;
}

}  // namespace

const char* kmeans_help() { return kHelp; }

KmeansOptions parse_kmeans_options(int argument_count, char** arguments) {
  static constexpr option kOptions[] = {
      {"clusters", required_argument, nullptr, 'k'},
      {"iterations", required_argument, nullptr, 'i'},
      {"seed", required_argument, nullptr, 's'},
      {"output", required_argument, nullptr, 'o'},
      {"rows", required_argument, nullptr, 'R'},
      {"progress", optional_argument, nullptr, 'P'},
      {"scratch-dir", required_argument, nullptr, 'S'},
      {"help", no_argument, nullptr, 'h'},
      {},
  };
  KmeansOptions options;
  opterr = 0;
  for (int result = 0; (result = getopt_long(argument_count, arguments, ":k:i:s:o:h", kOptions, nullptr)) != -1;) {
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
      case 'R':
        options.rows = parse_rows(optarg);
        break;
      case 'S':
        options.scratch_directory = optarg;
        break;
      case 'P':
        options.progress = parse_progress_style(optarg);
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
  options.matrix = arguments[optind];
  return options;
}

}  // namespace apps::kmeans
