#include "record_generator.h"

#include <gtest/gtest.h>

#include <string>

#include "record_checksum.h"

namespace apps::records {
namespace {

std::string generated(RecordKind kind, bool is_skewed, uint64_t first, uint64_t count) {
  std::string records(count * kRecordBytes, '\0');
  RecordGenerator(kind, is_skewed, first).generate(records.data(), count);
  return records;
}

Number checksum_of(const std::string& records) {
  return record_checksum(records.data(), records.size() / kRecordBytes);
}

TEST(RecordGenerator, makes_the_printable_records_that_gensort_is_known_to_make) {
  EXPECT_EQ(generated(RecordKind::ascii, false, 0, 3),
            "AsfAGHM5om  00000000000000000000000000000000  0000222200002222000022220000222200002222000000001111\r\n"
            "~sHd0jDv6X  00000000000000000000000000000001  77779999444488885555CCCC777755555555BBBB666644446666\r\n"
            "uI^EYm8s=|  00000000000000000000000000000002  CCCCFFFF777799995555FFFF11112222999988884444DDDDFFFF\r\n");
}

// Checksums that users of gensort have published.
TEST(RecordGenerator, makes_records_with_gensorts_checksums) {
  EXPECT_EQ(checksum_of(generated(RecordKind::ascii, false, 0, 163840)), Number{0x1400fed7bb2c2});
  EXPECT_EQ(checksum_of(generated(RecordKind::binary, false, 0, 1000000)), Number{0x7a0e0d4868cd4});
}

TEST(RecordGenerator, begins_anywhere) {
  for (const RecordKind kind : {RecordKind::binary, RecordKind::ascii})
    for (const bool is_skewed : {false, true}) {
      const std::string whole = generated(kind, is_skewed, 0, 300);
      for (const uint64_t first : {0, 1, 7, 128, 255})
        EXPECT_EQ(generated(kind, is_skewed, first, 45), whole.substr(first * kRecordBytes, 45 * kRecordBytes))
            << first;
    }
}

TEST(RecordGenerator, numbers_very_late_records) {
  const std::string record = generated(RecordKind::ascii, true, kMostRecords - 1, 1);
  EXPECT_EQ(record.substr(12, 32), "00000000000000000FFFFFFFFFFFFFFF");
}

// A skewed key begins with bits of the key whose number is the number of bits of the record's.
TEST(RecordGenerator, skews_three_of_four_keys_and_nothing_else) {
  constexpr uint64_t kFirst = 1024;  // eleven bits
  constexpr uint64_t kCount = 1000;
  const std::string skewed = generated(RecordKind::ascii, true, kFirst, kCount);
  const std::string plain = generated(RecordKind::ascii, false, kFirst, kCount);
  const std::string model = generated(RecordKind::ascii, false, 11, 1).substr(0, kKeyBytes);
  uint64_t changed = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    const std::string record = skewed.substr(i * kRecordBytes, kRecordBytes);
    const std::string other = plain.substr(i * kRecordBytes, kRecordBytes);
    size_t taken = 0;
    while (record[taken] == model[taken] && record.substr(taken) != other.substr(taken)) ++taken;
    EXPECT_EQ(record.substr(taken), other.substr(taken)) << i;
    EXPECT_LE(taken, 6u);
    changed += taken != 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(changed), 0.75 * kCount, 0.05 * kCount);
}

}  // namespace
}  // namespace apps::records
