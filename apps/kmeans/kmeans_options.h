// Command line of kmeans.
#pragma once

#include <cstdint>
#include <string>

#include "progress.h"
#include "scratch_file.h"

namespace apps::kmeans {

enum class RowPlace { memory, file, controlled };

struct KmeansOptions {
  std::string matrix;
  uint64_t clusters = 100;
  uint64_t iterations = 20;
  uint64_t seed = 1;
  RowPlace rows = RowPlace::memory;
  std::string output;  // empty: none
  std::string scratch_directory = default_scratch_directory();
  ProgressStyle progress = ProgressStyle::none;
  bool wants_help = false;
};

// Throws UsageError.
KmeansOptions parse_kmeans_options(int argument_count, char** arguments);

[[nodiscard]] const char* kmeans_help();

}  // namespace apps::kmeans
