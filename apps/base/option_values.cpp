#include "option_values.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

namespace apps {

uint64_t parse_whole_number(const std::string& option, const std::string& text, uint64_t smallest, uint64_t largest) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < smallest || value > largest) {
    throw UsageError("option " + option + ": '" + text + "' is not a whole number from " + std::to_string(smallest) +
                     " to " + std::to_string(largest));
  }
  return value;
}

double parse_fraction(const std::string& option, const std::string& text, double smallest, double largest) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value) || value < smallest || value > largest) {
    std::ostringstream message;
    message << "option " << option << ": '" << text << "' is not a number from " << smallest << " to " << largest;
    throw UsageError(message.str());
  }
  return value;
}

uint64_t parse_size(const std::string& option, const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  const size_t power = unit.empty() ? 0 : kUnits.find(unit) + 1;
  if (error != std::errc() || unit.size() > 1 || (power == 0 && !unit.empty()) || value > UINT64_MAX >> (10 * power)) {
    throw UsageError("option " + option + ": '" + text + "' is not a size, as in 8G, 512M or 4096");
  }
  return value << (10 * power);
}

UsageError refused_option(int result, char* const* arguments, int position) {
  const std::string option = arguments[position - 1];
  return UsageError(result == ':' ? "option " + option + " needs a value"
                                  : "unknown or incomplete option " + option + "; --help lists them");
}

}  // namespace apps
