#include "shuffle/record_format.h"

#include <gtest/gtest.h>

#include <string>

namespace spillway::shuffle {
namespace {

TEST(RecordFormat, lengths_read_back) {
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, uint64_t{127}, uint64_t{128}, uint64_t{16383}, uint64_t{16384}, UINT64_MAX}) {
    char bytes[10];
    const char* end = write_length(bytes, length);
    EXPECT_EQ(static_cast<size_t>(end - bytes), length_bytes(length));
    uint64_t read = 0;
    EXPECT_EQ(read_length(bytes, end, read), end);
    EXPECT_EQ(read, length);
    EXPECT_EQ(read_length(bytes, end - 1, read), nullptr);
  }
}

TEST(RecordFormat, a_record_reads_back_and_no_part_of_it_does) {
  for (const size_t key_bytes : {0, 5, 127, 128, 300})
    for (const size_t value_bytes : {0, 1, 128}) {
      const std::string key(key_bytes, 'k');
      const std::string value(value_bytes, 'v');
      std::string bytes(record_bytes({key, value}), '\0');
      ASSERT_EQ(write_record(bytes.data(), {key, value}), bytes.data() + bytes.size());
      Record record;
      ASSERT_EQ(read_record(bytes.data(), bytes.data() + bytes.size(), record), bytes.data() + bytes.size());
      EXPECT_EQ(record.key, key);
      EXPECT_EQ(record.value, value);
      for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_EQ(read_record(bytes.data(), bytes.data() + size, record), nullptr) << size;
    }
}

TEST(RecordFormat, lengths_beyond_all_memory_are_no_record) {
  char bytes[24] = {};
  write_length(write_length(bytes, UINT64_MAX), UINT64_MAX);
  Record record;
  EXPECT_EQ(read_record(bytes, bytes + sizeof bytes, record), nullptr);
}

}  // namespace
}  // namespace spillway::shuffle
