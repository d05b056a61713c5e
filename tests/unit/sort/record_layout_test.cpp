#include "sort/record_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sort/failure.h"

namespace spillway::sort {
namespace {

template <typename Number>
void expect_order(KeyType type, const std::vector<Number>& ascending) {
  for (const bool is_descending : {false, true}) {
    const RecordLayout layout(3 + sizeof(Number), 3, sizeof(Number), {type, is_descending}, EqualKeys::unordered);
    EXPECT_FALSE(layout.has_more_than_prefix());
    uint64_t last = 0;
    for (size_t i = 0; i < ascending.size(); ++i) {
      char record[3 + sizeof(Number)] = {'x', 'y', 'z'};
      std::memcpy(record + 3, &ascending[i], sizeof(Number));
      const uint64_t prefix = layout.order().prefix(layout.key({record, sizeof record}));
      EXPECT_TRUE(i == 0 || (is_descending ? prefix < last : prefix > last)) << +ascending[i];
      last = prefix;
    }
  }
}

template <typename Number>
std::vector<Number> ends() {
  using Limits = std::numeric_limits<Number>;
  if constexpr (std::is_floating_point_v<Number>)
    return {-Limits::infinity(), Limits::lowest(),  -1, -Limits::denorm_min(), 0, Limits::denorm_min(), 1,
            Limits::max(),       Limits::infinity()};
  else if constexpr (std::is_signed_v<Number>)
    return {Limits::min(), Limits::min() + 1, -2, -1, 0, 1, Limits::max()};
  else
    return {0, 1, Limits::max() / 2, Limits::max() / 2 + 1, Limits::max()};
}

TEST(RecordLayout, orders_numbers) {
  expect_order<int8_t>(KeyType::signed_integer, ends<int8_t>());
  expect_order<int16_t>(KeyType::signed_integer, ends<int16_t>());
  expect_order<int32_t>(KeyType::signed_integer, ends<int32_t>());
  expect_order<int64_t>(KeyType::signed_integer, ends<int64_t>());
  expect_order<uint8_t>(KeyType::unsigned_integer, ends<uint8_t>());
  expect_order<uint16_t>(KeyType::unsigned_integer, ends<uint16_t>());
  expect_order<uint32_t>(KeyType::unsigned_integer, ends<uint32_t>());
  expect_order<uint64_t>(KeyType::unsigned_integer, ends<uint64_t>());
  expect_order<float>(KeyType::real, ends<float>());
  expect_order<double>(KeyType::real, ends<double>());
}

TEST(RecordLayout, orders_bytes_by_prefix_and_then_further) {
  const std::vector<std::string> ascending = {std::string(10, '\0'),  "aaaaaaaaaa",  "aaaaaaaaab",
                                              "aaaaaaab\x01\x01",     "b\0aaaaaaaa", "\x80zzzzzzzzz",
                                              std::string(10, '\xff')};
  for (const bool is_descending : {false, true}) {
    const RecordLayout layout(10, 0, 10, {KeyType::bytes, is_descending}, EqualKeys::unordered);
    EXPECT_TRUE(layout.has_more_than_prefix());
    for (size_t i = 0; i + 1 < ascending.size(); ++i) {
      std::string first = ascending[i];
      std::string second = ascending[i + 1];
      first.resize(10);
      second.resize(10);
      if (is_descending) std::swap(first, second);
      const uint64_t prefixes[2] = {layout.order().prefix(first), layout.order().prefix(second)};
      EXPECT_LE(prefixes[0], prefixes[1]);
      EXPECT_TRUE(prefixes[0] != prefixes[1] || layout.order().compare_further(first, second) < 0);
    }
  }
}

TEST(RecordLayout, orders_short_bytes) {
  const RecordLayout layout(3, 1, 2, {KeyType::bytes, false}, EqualKeys::unordered);
  EXPECT_LT(layout.order().prefix(layout.key("zab")), layout.order().prefix(layout.key("abb")));
  EXPECT_EQ(layout.order().prefix(layout.key("xab")), layout.order().prefix(layout.key("yab")));
}

TEST(RecordLayout, is_of_options) {
  const RecordLayout layout = RecordLayout::parse(16, "8:4:int:desc", EqualKeys::stable);
  EXPECT_EQ(layout.record_bytes(), 16u);
  EXPECT_EQ(layout.extra_bytes(), 8u);
  const int32_t records[2][4] = {{9, 9, -1, 9}, {9, 9, 1, 9}};
  EXPECT_GT(layout.order().prefix(layout.key({reinterpret_cast<const char*>(records[0]), 16})),
            layout.order().prefix(layout.key({reinterpret_cast<const char*>(records[1]), 16})));
  for (const char* wrong :
       {"", "0", "0:", "a:4", "0:4x", "0:0", "13:4", "16:1", "0:4:text", "0:3:int", "0:2:float", "0:16:uint"})
    EXPECT_THROW(RecordLayout::parse(16, wrong, EqualKeys::unordered), UsageFailure) << wrong;
  EXPECT_THROW(RecordLayout::parse(0, "0:1", EqualKeys::unordered), UsageFailure);
}

std::string field(const std::string& key, const std::string& separator, std::string_view line) {
  return std::string(RecordLayout::parse_lines(key, separator, EqualKeys::unordered).key(line));
}

TEST(RecordLayout, finds_fields_of_lines) {
  EXPECT_EQ(field("0", "", " a line "), " a line ");
  EXPECT_EQ(field("1", "", " \ta  bc d"), "a");
  EXPECT_EQ(field("2", "", " \ta  bc d"), "bc");
  EXPECT_EQ(field("3", "", "a bc d"), "d");
  EXPECT_EQ(field("4", "", "a bc d"), "");
  EXPECT_EQ(field("4", "", "a bc d  "), "");
  EXPECT_EQ(field("1", "", ""), "");
  EXPECT_EQ(field("1", ",", ",b,,d"), "");
  EXPECT_EQ(field("2", ",", ",b,,d"), "b");
  EXPECT_EQ(field("3", ",", ",b,,d"), "");
  EXPECT_EQ(field("4", ",", ",b,,d"), "d");
  EXPECT_EQ(field("5", ",", ",b,,d"), "");
  EXPECT_EQ(field("2", "\\t", "a b\tc d"), "c d");
}

TEST(RecordLayout, of_lines_is_of_options) {
  EXPECT_FALSE(RecordLayout::parse_lines("0", "", EqualKeys::unordered).has_positions());
  EXPECT_TRUE(RecordLayout::parse_lines("0:number", "", EqualKeys::unordered).has_positions());
  EXPECT_TRUE(RecordLayout::parse_lines("2", "", EqualKeys::unordered).has_positions());
  for (const char* wrong : {"", "x", "-1", "1:int", "1:bytes:up"})
    EXPECT_THROW(RecordLayout::parse_lines(wrong, "", EqualKeys::unordered), UsageFailure) << wrong;
  for (const char* wrong : {",,", "\n", "\\n"})
    EXPECT_THROW(RecordLayout::parse_lines("1", wrong, EqualKeys::unordered), UsageFailure) << wrong;
}

TEST(RecordLayout, writes_counts_before_lines_and_behind_records) {
  const RecordLayout lines = RecordLayout::parse_lines("0", "", EqualKeys::counted);
  for (const auto& [count, expected] :
       {std::pair<uint64_t, std::string>{1, "      1 ab\n"}, {12345678901, "12345678901 ab\n"}}) {
    std::string text(lines.written_bytes("ab", count), '.');
    lines.write("ab", count, text.data());
    EXPECT_EQ(text, expected);
  }
  const RecordLayout records = RecordLayout::parse(2, "0:2", EqualKeys::counted);
  std::string bytes(records.written_bytes("ab", 259), '.');
  records.write("ab", 259, bytes.data());
  EXPECT_EQ(bytes, std::string("ab\3\1\0\0\0\0\0\0", 10));
}

}  // namespace
}  // namespace spillway::sort
