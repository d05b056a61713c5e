#include "sort/splitters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "seed.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kRecordBytes = 12;
constexpr uint64_t kBuckets = 16;

struct Whole {
  std::string record;
  uint64_t position;
};

// Buckets of all records, some of which are the sample; checked against the order of key and position.
std::vector<uint64_t> expect_ranges(Random& random, std::vector<Whole> records) {
  const RecordLayout layout(kRecordBytes, 1, 10, {KeyType::bytes, false}, EqualKeys::unordered);
  std::vector<Sample> samples;
  for (const Whole& whole : records) {
    if (!random.one_in(8)) continue;
    samples.push_back({whole.position, layout.key(whole.record), 1, 1});
  }
  const Splitters splitters(layout, samples, kBuckets);
  const auto place = [](const Whole& whole) { return std::tuple(whole.record.substr(1, 10), whole.position); };
  std::sort(records.begin(), records.end(), [&](const Whole& a, const Whole& b) { return place(a) < place(b); });
  std::vector<uint64_t> counts(kBuckets, 0);
  uint32_t last = 0;
  for (const Whole& whole : records) {
    const std::string_view key = layout.key(whole.record);
    const uint32_t bucket = splitters.bucket_of(layout.order().prefix(key), key, whole.position);
    EXPECT_LT(bucket, kBuckets);
    EXPECT_GE(bucket, last) << "a record is before one of a lower bucket";
    last = bucket;
    ++counts[bucket];
  }
  return counts;
}

std::vector<Whole> records_of(uint64_t count, const std::function<std::string(uint64_t)>& key) {
  std::vector<Whole> records;
  for (uint64_t i = 0; i < count; ++i) {
    std::string record = "#" + key(i);
    record.resize(kRecordBytes, '\0');
    records.push_back({record, i});
  }
  return records;
}

void expect_even(const std::vector<uint64_t>& counts, uint64_t total) {
  for (const uint64_t count : counts) EXPECT_NEAR(count, total / kBuckets, total / kBuckets / 2);
}

std::string random_bytes(Random& random, size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

TEST(Splitters, divide_random_keys_evenly) {
  Random random(test_seed());
  expect_even(expect_ranges(random, records_of(20000, [&](uint64_t) { return random_bytes(random, 10); })), 20000);
}

TEST(Splitters, divide_keys_that_differ_late_evenly) {
  Random random(test_seed());
  const auto key = [&](uint64_t) { return std::string(8, 'a') + random_bytes(random, 2); };
  expect_even(expect_ranges(random, records_of(20000, key)), 20000);
}

TEST(Splitters, divide_equal_keys_evenly) {
  Random random(test_seed());
  for (const char letter : {'\0', 'x', '\xff'})
    expect_even(expect_ranges(random, records_of(20000, [&](uint64_t) { return std::string(10, letter); })), 20000);
}

TEST(Splitters, divide_a_few_frequent_keys_evenly) {
  Random random(test_seed());
  const auto key = [&](uint64_t) {
    return random.one_in(2) ? std::string(10, 'm') : random.one_in(2) ? std::string(10, 'b') : random_bytes(random, 10);
  };
  expect_even(expect_ranges(random, records_of(20000, key)), 20000);
}

TEST(Splitters, of_no_sample_have_one_bucket) {
  const RecordLayout layout(kRecordBytes, 1, 10, {KeyType::bytes, false}, EqualKeys::unordered);
  const Splitters splitters(layout, {}, kBuckets);
  const std::string key(10, '\xff');
  EXPECT_EQ(splitters.bucket_of(layout.order().prefix(key), key, 5), 0u);
}

TEST(Splitters, weigh_what_samples_stand_for) {
  const RecordLayout layout(1, 0, 1, {KeyType::bytes, false}, EqualKeys::unordered);
  const Splitters splitters(layout, {{0, "a", 1, 1}, {1, "b", 1, 1}, {2, "c", 2, 2}, {3, "d", 4, 4}, {4, "e", 4, 4}},
                            3);
  const uint32_t expected[] = {0, 0, 0, 1, 2};
  for (const char letter : {'a', 'b', 'c', 'd', 'e'}) {
    const std::string key(1, letter);
    EXPECT_EQ(splitters.bucket_of(layout.order().prefix(key), key, 100), expected[letter - 'a']) << letter;
  }
}

// Half of the bytes are one large record, and most of the memory is the index of small ones.
TEST(Splitters, divide_bytes_and_memory) {
  const RecordLayout layout(1, 0, 1, {KeyType::bytes, false}, EqualKeys::unordered);
  std::string keys;
  for (char letter = 'a'; letter <= 'h'; ++letter) keys += letter;
  std::vector<Sample> samples;
  for (size_t i = 0; i < 8; ++i)
    samples.push_back({i, std::string_view(keys).substr(i, 1), i < 4 ? 1.0 : 100.0, i < 4 ? 100.0 : 1.0});
  const Splitters splitters(layout, samples, 8);
  for (size_t i = 0; i < 8; ++i) {
    const std::string_view key = std::string_view(keys).substr(i, 1);
    EXPECT_EQ(splitters.bucket_of(layout.order().prefix(key), key, 100), i);
  }
}

TEST(Splitters, keep_equal_keys_together_where_one_comes_out) {
  Random random(test_seed());
  const RecordLayout layout(10, 0, 10, {KeyType::bytes, false}, EqualKeys::counted);
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) keys.push_back(random.one_in(2) ? "frequent.." : random_bytes(random, 10));
  std::vector<Sample> samples;
  for (size_t i = 0; i < keys.size(); ++i) samples.push_back({i, keys[i], 1, 1});
  const Splitters splitters(layout, samples, kBuckets);
  const std::string frequent = "frequent..";
  const uint64_t prefix = layout.order().prefix(frequent);
  const uint32_t bucket = splitters.bucket_of(prefix, frequent, ~uint64_t{0});
  EXPECT_TRUE(splitters.is_first_of(bucket, prefix, frequent));
  EXPECT_EQ(splitters.first_key(bucket), frequent);
  uint64_t first_keys = 0;
  for (const std::string& key : keys) {
    const uint64_t of = layout.order().prefix(key);
    const uint32_t found = splitters.bucket_of(of, key, ~uint64_t{0});
    first_keys += splitters.is_first_of(found, of, key) ? 1 : 0;
    if (key < frequent) EXPECT_LT(found, bucket);
    if (key > frequent) EXPECT_GE(found, bucket);
  }
  EXPECT_GE(first_keys, static_cast<uint64_t>(std::count(keys.begin(), keys.end(), frequent)));
  EXPECT_LT(first_keys, 3000u);
}

}  // namespace
}  // namespace spillway::sort
