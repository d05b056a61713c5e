// Command line of sgd.
#pragma once

#include <string>

#include "block_place.h"
#include "model_options.h"
#include "progress.h"

namespace apps::sgd {

struct SgdOptions : ModelOptions {
  PlaceKind blocks = PlaceKind::memory;
  ProgressStyle progress = ProgressStyle::none;
};

// Throws UsageError.
SgdOptions parse_sgd_options(int argument_count, char** arguments);

[[nodiscard]] std::string sgd_help();

}  // namespace apps::sgd
