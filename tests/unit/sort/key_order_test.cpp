#include "sort/key_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "seed.h"

namespace spillway::sort {
namespace {

int sign(int number) { return (number > 0) - (number < 0); }

void expect_order(const std::vector<std::vector<std::string>>& ascending_equals) {
  for (const bool is_descending : {false, true}) {
    const KeyOrder order(KeyType::decimal, is_descending);
    for (size_t i = 0; i < ascending_equals.size(); ++i)
      for (size_t j = 0; j < ascending_equals.size(); ++j)
        for (const std::string& first : ascending_equals[i])
          for (const std::string& second : ascending_equals[j]) {
            const int expected = is_descending ? (j > i) - (j < i) : (i > j) - (i < j);
            EXPECT_EQ(sign(order.compare(first, second)), expected) << "'" << first << "', '" << second << "'";
          }
  }
}

TEST(KeyOrder, of_decimals_is_that_of_numbers) {
  expect_order({
      {"-" + std::string(400, '9')},
      {"-100000000000000000000000000000001"},
      {"-100000000000000000000000000000000", "-100000000000000000000000000000000.0"},
      {"-10.5", "\t -10.50", "-0010.5x"},
      {"-10"},
      {"-." + std::string(400, '0') + "1"},
      {"", "0", "-0", "x", "-", "+5", ".", "-.0", "000", "inf", "nan", "0x10", " e5"},
      {"." + std::string(400, '0') + "1", "0." + std::string(400, '0') + "10"},
      {"." + std::string(400, '0') + "11"},
      {"0.1", ".1", "00.10"},
      {"0.1000000000000000000000000000000001"},
      {"1", "1e9", "1,000"},
      {"9007199254740992"},
      {"9007199254740993"},
      {"9007199254740993.5"},
      {"123456789012345678901234567890"},
      {"123456789012345678901234567891"},
      {std::string(400, '9')},
      {"1" + std::string(400, '0')},
  });
}

TEST(KeyOrder, of_bytes_goes_on_behind_the_prefix) {
  Random random(test_seed());
  for (const bool is_descending : {false, true}) {
    const KeyOrder order(KeyType::bytes, is_descending);
    for (int i = 0; i < 20'000; ++i) {
      std::string keys[2];
      for (std::string& key : keys) {
        key.resize(random.below(20));
        for (char& byte : key) byte = "\0\1a\xff"[random.below(4)];
      }
      const int expected = sign(keys[0].compare(keys[1])) * (is_descending ? -1 : 1);
      EXPECT_EQ(sign(order.compare(keys[0], keys[1])), expected);
      for (size_t from = 0; from < 24; from += 8) {
        const uint64_t prefixes[2] = {order.prefix(keys[0], from), order.prefix(keys[1], from)};
        if (prefixes[0] == prefixes[1]) continue;
        EXPECT_EQ(prefixes[0] < prefixes[1], expected < 0);
        break;
      }
    }
  }
}

}  // namespace
}  // namespace spillway::sort
