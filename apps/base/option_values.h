// Values of command-line options. A UsageError's message is meant for the user; programs answer it with exit status 2.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace apps {

inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// All throw UsageError, naming `option`, unless `text` is such a number within the bounds.
uint64_t parse_whole_number(const std::string& option, const std::string& text, uint64_t smallest, uint64_t largest);
double parse_fraction(const std::string& option, const std::string& text, double smallest, double largest);
// Bytes, as in 4096, 512K, 64M, 8G or 1T: powers of 1024.
uint64_t parse_size(const std::string& option, const std::string& text);

// What getopt_long has just refused: `result` is '?' or ':'. `position` is optind.
[[nodiscard]] UsageError refused_option(int result, char* const* arguments, int position);

}  // namespace apps
