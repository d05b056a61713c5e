#include "sort/key_order.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <system_error>

namespace spillway::sort {
namespace {

constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr size_t kExactDigits = 15;  // so many are a double's without rounding

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

// What is said, without zeros that say nothing.
struct Decimal {
  bool is_negative = false;
  std::string_view whole;
  std::string_view fraction;

  bool is_zero() const { return whole.empty() && fraction.empty(); }
};

Decimal parse(std::string_view text) {
  Decimal number;
  size_t at = text.find_first_not_of(" \t");
  if (at == std::string_view::npos) return number;
  number.is_negative = text[at] == '-';
  at += number.is_negative ? 1 : 0;
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  number.whole = text.substr(at, end - at);
  if (end < text.size() && text[end] == '.') {
    const size_t begin = ++end;
    while (end < text.size() && is_digit(text[end])) ++end;
    number.fraction = text.substr(begin, end - begin);
  }
  number.whole.remove_prefix(std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  const size_t last = number.fraction.find_last_not_of('0');
  number.fraction = number.fraction.substr(0, last == std::string_view::npos ? 0 : last + 1);
  if (number.is_zero()) number.is_negative = false;
  return number;
}

double magnitude(const Decimal& number) {
  if (number.fraction.empty() && number.whole.size() <= kExactDigits) {
    uint64_t whole = 0;
    for (const char digit : number.whole) whole = 10 * whole + static_cast<uint64_t>(digit - '0');
    return static_cast<double>(whole);
  }
  // They lie in one text, with the point between them.
  const char* begin = number.whole.empty() ? number.fraction.data() - 1 : number.whole.data();
  const char* end = number.fraction.empty() ? number.whole.data() + number.whole.size()
                                            : number.fraction.data() + number.fraction.size();
  double value = 0;
  if (std::from_chars(begin, end, value, std::chars_format::fixed).ec == std::errc::result_out_of_range)
    return number.whole.empty() ? 0 : std::numeric_limits<double>::infinity();
  return value;
}

}  // namespace

// Rounding keeps the order, as far as it leaves a difference.
uint64_t KeyOrder::decimal_prefix(std::string_view text) {
  const Decimal number = parse(text);
  const auto bits = std::bit_cast<uint64_t>(magnitude(number));
  return number.is_negative ? ~(bits | kSign) : bits | kSign;
}

int KeyOrder::compare_decimals(std::string_view first, std::string_view second) {
  const Decimal numbers[2] = {parse(first), parse(second)};
  if (numbers[0].is_negative != numbers[1].is_negative) return numbers[0].is_negative ? -1 : 1;
  const size_t sizes[2] = {numbers[0].whole.size(), numbers[1].whole.size()};
  int result = sizes[0] != sizes[1] ? (sizes[0] < sizes[1] ? -1 : 1) : numbers[0].whole.compare(numbers[1].whole);
  if (result == 0) result = numbers[0].fraction.compare(numbers[1].fraction);
  return numbers[0].is_negative ? -result : result;
}

}  // namespace spillway::sort
