#include "record_order.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "record_checksum.h"

namespace apps::records {
namespace {

std::string record(const std::string& key) { return key + std::string(kRecordBytes - key.size(), 'x'); }

RecordOrder order_of(const std::vector<std::string>& keys) {
  RecordOrder order;
  for (const std::string& key : keys) order.add(record(key).data());
  return order;
}

TEST(RecordOrder, counts_records_and_duplicate_keys) {
  const RecordOrder order = order_of({"aaaaaaaaaa", "aaaaaaaaab", "aaaaaaaaab", "aaaaaaaaab", "\xff"});
  EXPECT_EQ(order.records(), 5u);
  EXPECT_EQ(order.duplicate_keys(), 2u);
  EXPECT_EQ(order.unordered(), 0u);
}

TEST(RecordOrder, counts_records_with_smaller_keys_than_the_one_before) {
  const RecordOrder order = order_of({"b", "c", "a", "z", "y"});
  EXPECT_EQ(order.unordered(), 2u);
  EXPECT_EQ(order.first_unordered(), 2u);
}

TEST(RecordOrder, looks_at_no_more_than_the_key) {
  const RecordOrder order = order_of({"aaaaaaaaaaz", "aaaaaaaaaaa"});
  EXPECT_EQ(order.unordered(), 0u);
  EXPECT_EQ(order.duplicate_keys(), 1u);
}

TEST(RecordOrder, of_nothing_is_nothing) {
  EXPECT_EQ(RecordOrder().records(), 0u);
  EXPECT_EQ(hexadecimal(RecordOrder().checksum()), "0");
}

TEST(RecordOrder, has_the_sum_of_crc32_as_checksum) {
  const RecordOrder order = order_of({"", "", "y"});
  EXPECT_EQ(record_crc32(std::string(kRecordBytes, 'x').data()), 0x5e0e5d8fu);  // as zlib has it
  EXPECT_EQ(order.checksum(), 2 * Number{record_crc32(record("").data())} + record_crc32(record("y").data()));
}

TEST(RecordChecksum, may_have_more_than_64_bits) {
  EXPECT_EQ(hexadecimal(Number{0xffffffff} << 36), "ffffffff000000000");
}

}  // namespace
}  // namespace apps::records
