// Command line of pagerank.
#pragma once

#include <cstdint>
#include <string>

#include "ghost_exchange.h"
#include "progress.h"

namespace apps::pagerank {

struct PageRankOptions {
  std::string graph;
  uint64_t iterations = 20;
  double damping = 0.85;
  double tolerance = 0;  // 0: all iterations
  std::string output;    // empty: none
  uint64_t top_count = 0;
  ProgressStyle progress = ProgressStyle::none;
  ExchangeMethod exchange = ExchangeMethod::messages;
  bool wants_help = false;
};

// Throws UsageError.
PageRankOptions parse_pagerank_options(int argument_count, char** arguments);

[[nodiscard]] const char* pagerank_help();

}  // namespace apps::pagerank
