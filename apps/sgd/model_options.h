// What sgd and sgd-serial have in common on the command line.
#pragma once

#include <getopt.h>

#include <cstdint>
#include <string>
#include <vector>

#include "factor_model.h"

namespace apps::sgd {

struct ModelOptions {
  std::string matrix;
  Model model;
  uint64_t iterations = 10;
  bool reports_error = false;
  std::string output;  // a prefix; empty: none
  std::string scratch_directory;
  bool wants_help = false;
};

inline constexpr char kModelShortOptions[] = ":i:f:r:d:l:s:o:h";

// For getopt_long: these options and those of one program, which gives its own other letters.
std::vector<option> with_model_options(const std::vector<option>& own);

// Takes the value of an option that is one of these; false for any other letter. Throws UsageError.
bool take_model_option(int letter, const char* value, ModelOptions& options);

// After the options: the name of the matrix. Throws UsageError.
void take_matrix(int argument_count, char** arguments, ModelOptions& options);

// Lines of --help.
[[nodiscard]] const char* model_help();

}  // namespace apps::sgd
