#include "model_options.h"

#include "option_values.h"
#include "scratch_file.h"

namespace apps::sgd {

namespace {

constexpr char kModelHelp[] =
    R"(  -i, --iterations COUNT    times that each rating is taken (default 10)
  -f, --factors COUNT       factors of each row and each column (default 20)
  -r, --rate RATE           how far a rating's error moves its factors (default 0.01)
  -d, --decay FACTOR        multiplies the rate after each iteration, 0 to 1 (default 0.95)
  -l, --lambda LAMBDA       weight of the factors' own size, against overfitting (default 0.02)
  -s, --seed SEED           for the starting values and the orders (default 1)
      --order ORDER         of a block's ratings: elements (default: all in random order, another in each iteration),
                            or rows (rows in random order, the ratings of a row in sequence)
      --report-error        print the root mean square error over all ratings after each iteration, not only after the
                            last; each takes another pass over the data, which no iteration's time contains
  -o, --output PREFIX       write the factors of rows and columns to PREFIX.u and PREFIX.v: little-endian floats, row
                            by row
      --scratch-dir FOLDER  where scratch files go, which have no name (default: $TMPDIR, or else /var/tmp)
)";

constexpr uint64_t kMaxFactors = 4096;
constexpr double kMaxRate = 1000;

Order parse_order(const std::string& order) {
  if (order != "elements" && order != "rows") {
    throw UsageError("option --order: '" + order + "' is none of elements, rows");
  }
  return order == "elements" ? Order::elements : Order::rows;
}

}  // namespace

const char* model_help() { return kModelHelp; }

std::vector<option> with_model_options(const std::vector<option>& own) {
  std::vector<option> options = {
      {"iterations", required_argument, nullptr, 'i'},
      {"factors", required_argument, nullptr, 'f'},
      {"rate", required_argument, nullptr, 'r'},
      {"decay", required_argument, nullptr, 'd'},
      {"lambda", required_argument, nullptr, 'l'},
      {"seed", required_argument, nullptr, 's'},
      {"order", required_argument, nullptr, 'O'},
      {"report-error", no_argument, nullptr, 'E'},
      {"output", required_argument, nullptr, 'o'},
      {"scratch-dir", required_argument, nullptr, 'S'},
      {"help", no_argument, nullptr, 'h'},
  };
  options.insert(options.end(), own.begin(), own.end());
  options.push_back({});
  return options;
}

bool take_model_option(int letter, const char* value, ModelOptions& options) {
  switch (letter) {
    case 'i':
      options.iterations = parse_whole_number("--iterations", value, 0, 1000000);
      return true;
    case 'f':
      options.model.factors = parse_whole_number("--factors", value, 1, kMaxFactors);
      return true;
    case 'r':
      options.model.rate = parse_fraction("--rate", value, 0, kMaxRate);
      return true;
    case 'd':
      options.model.decay = parse_fraction("--decay", value, 0, 1);
      return true;
    case 'l':
      options.model.lambda = parse_fraction("--lambda", value, 0, kMaxRate);
      return true;
    case 's':
      options.model.seed = parse_whole_number("--seed", value, 0, UINT64_MAX);
      return true;
    case 'O':
      options.model.order = parse_order(value);
      return true;
    case 'E':
      options.reports_error = true;
      return true;
    case 'o':
      options.output = value;
      return true;
    case 'S':
      options.scratch_directory = value;
      return true;
    case 'h':
      options.wants_help = true;
      return true;
    default:
      return false;
  }
}

void take_matrix(int argument_count, char** arguments, ModelOptions& options) {
  if (optind + 1 != argument_count) {
    throw UsageError("exactly one MATRIX file is needed; --help explains");
  }
  options.matrix = arguments[optind];
  if (options.scratch_directory.empty()) {
    options.scratch_directory = default_scratch_directory();
  }
}

}  // namespace apps::sgd
