#include "shuffle/key_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace spillway::shuffle {
namespace {

// Each key comes before all that follow it.
void expect_ascending(const KeyOrder& order, const std::vector<std::string>& keys) {
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < keys.size(); ++j) {
      const int compared = order.compare(keys[i], keys[j]);
      EXPECT_EQ(i < j, compared < 0) << i << " " << j;
      EXPECT_EQ(i == j, compared == 0) << i << " " << j;
    }
}

template <typename Number>
std::vector<std::string> keys_of(const std::vector<Number>& numbers) {
  std::vector<std::string> keys;
  keys.reserve(numbers.size());
  for (const Number& number : numbers) keys.emplace_back(reinterpret_cast<const char*>(&number), sizeof number);
  return keys;
}

TEST(KeyOrder, strings_and_bytes_are_in_the_order_of_their_bytes) {
  using namespace std::string_literals;
  const std::vector<std::string> keys = {""s,         "\0"s,         "\0\0"s,      "a"s,        "a\0"s, "aa"s,
                                         "abcdefgh"s, "abcdefgh\0"s, "abcdefghi"s, "abcdefgz"s, "\xff"s};
  expect_ascending(KeyOrder(ItemClass::bytes), keys);
  std::vector<std::string> strings;
  for (const char* text : {"", "a", "aa", "abcdefg", "abcdefgh", "abcdefghi", "b", "\xff"})
    strings.emplace_back(text, std::char_traits<char>::length(text) + 1);
  expect_ascending(KeyOrder(ItemClass::string), strings);
}

TEST(KeyOrder, numbers_are_in_the_order_of_their_values) {
  expect_ascending(KeyOrder(ItemClass::int32), keys_of<int32_t>({INT32_MIN, -2, -1, 0, 1, INT32_MAX}));
  expect_ascending(KeyOrder(ItemClass::int64), keys_of<int64_t>({INT64_MIN, -1, 0, 1, int64_t{1} << 40, INT64_MAX}));
  const double infinity = std::numeric_limits<double>::infinity();
  expect_ascending(KeyOrder(ItemClass::real64), keys_of<double>({-infinity, -1e300, -1.5, -1e-320, -0.0, 0.0, 1e-320,
                                                                 0.5, 1e300, infinity, std::nan("")}));
}

TEST(KeyOrder, the_programs_order_counts_alone) {
  const auto by_length = [](const void* first, const void* second, void*) {
    const auto size = [](const void* item) { return static_cast<int>(static_cast<const Bytes*>(item)->size); };
    return size(first) - size(second);
  };
  const KeyOrder order(ItemClass::bytes, by_length);
  expect_ascending(order, {"", "z", "yy", "xxxxxxxxxx", "aaaaaaaaaaaaa"});
  EXPECT_EQ(order.compare("ab", "cd"), 0);
}

}  // namespace
}  // namespace spillway::shuffle
