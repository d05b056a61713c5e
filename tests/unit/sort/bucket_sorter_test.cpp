#include "sort/bucket_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "seed.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kRecordBytes = 20;
constexpr uint64_t kKeyBytes = 10;

// Sorted in pieces, and copied in parts of all sizes.
void expect_sorted(Random& random, uint64_t count, const std::function<std::string(uint64_t)>& key) {
  const RecordLayout layout(kRecordBytes, 0, kKeyBytes, {KeyType::bytes, false}, EqualKeys::unordered);
  std::vector<std::string> expected;
  std::vector<std::string> memory(3);
  for (uint64_t i = 0; i < count; ++i) {
    std::string record = key(i);
    record.resize(kKeyBytes, '\0');
    record += std::to_string(i);
    record.resize(kRecordBytes, '.');
    memory[random.below(memory.size())] += record;
    expected.push_back(record);
  }
  std::vector<BucketSorter::Piece> pieces;
  for (const std::string& piece : memory) pieces.push_back({piece.data(), piece.size()});
  BucketSorter sorter(layout);
  for (int round = 0; round < 2; ++round) {
    sorter.sort(pieces, count, {});
    std::string found(count * kRecordBytes, '\0');
    for (uint64_t done = 0; done < found.size();) {
      const uint64_t most = std::min<uint64_t>(1 + random.below(100), found.size() - done);
      ASSERT_EQ(sorter.copy_next(found.data() + done, most), most);
      done += most;
    }
    char more = 0;
    EXPECT_EQ(sorter.copy_next(&more, 1), 0u);
    std::vector<std::string> records;
    for (uint64_t i = 0; i < count; ++i) records.push_back(found.substr(i * kRecordBytes, kRecordBytes));
    const auto by_key = [](const std::string& first, const std::string& second) {
      return first.compare(0, kKeyBytes, second, 0, kKeyBytes) < 0;
    };
    EXPECT_TRUE(std::is_sorted(records.begin(), records.end(), by_key));
    std::sort(records.begin(), records.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(records, expected);
  }
}

std::string random_bytes(Random& random, size_t count) {
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.below(256));
  return bytes;
}

TEST(BucketSorter, sorts_whatever_keys_are) {
  Random random(test_seed());
  const std::vector<std::function<std::string(uint64_t)>> kinds = {
      [&](uint64_t) { return random_bytes(random, kKeyBytes); },
      [](uint64_t) { return std::string("same"); },
      [&](uint64_t) { return std::string(8, 'a') + random_bytes(random, 2); },
      [&](uint64_t) { return std::string(5, 'a') + random_bytes(random, 2); },
      [&](uint64_t i) {
        return i == 7 ? std::string(kKeyBytes, '\0') : std::string(6, '\xff') + random_bytes(random, 4);
      },
      [&](uint64_t) { return random_bytes(random, random.below(3)); },
      [](uint64_t i) { return std::to_string(1'000'000 + i); },
      [](uint64_t i) { return std::to_string(9'000'000 - i); },
  };
  for (const auto& kind : kinds)
    for (const uint64_t count : {0, 1, 2, 256, 257, 5000}) expect_sorted(random, count, kind);
}

// Whatever the keys are, nobody who waits for this process waits for all of a bucket.
TEST(BucketSorter, calls_in_between) {
  constexpr uint64_t kCount = 200'000;
  Random random(test_seed());
  const std::vector<std::function<std::string(uint64_t)>> kinds = {
      [&](uint64_t) { return random_bytes(random, kKeyBytes); },
      [](uint64_t) { return std::string("same"); },
      [&](uint64_t) { return std::string(8, 'a') + random_bytes(random, 2); },
      [](uint64_t i) { return std::to_string(1'000'000 + i / 5); },
  };
  for (const auto& kind : kinds)
    for (const EqualKeys equal : {EqualKeys::unordered, EqualKeys::first_only}) {
      const RecordLayout layout(kRecordBytes, 0, kKeyBytes, {KeyType::bytes, false}, equal);
      std::string memory;
      for (uint64_t i = 0; i < kCount; ++i) {
        std::string record = kind(i);
        record.resize(kRecordBytes + layout.extra_bytes(), '.');
        memory += record;
      }
      uint64_t calls = 0;
      BucketSorter sorter(layout, [&] { ++calls; });
      sorter.sort({{memory.data(), memory.size()}}, kCount, {});
      // For their prefixes, and for what they are ordered or compared by.
      EXPECT_GE(calls, 2 * kCount / BucketSorter::kRecordsBetween - 1);
      EXPECT_LE(calls, 100 * kCount / BucketSorter::kRecordsBetween);
    }
}

// Positions lie behind records, and are not in the output.
TEST(BucketSorter, orders_equal_keys_by_position) {
  Random random(test_seed());
  constexpr uint64_t kCount = 3000;
  const RecordLayout layout(4, 0, 2, {KeyType::bytes, false}, EqualKeys::stable);
  std::vector<std::pair<std::string, uint64_t>> expected;
  for (uint64_t i = 0; i < kCount; ++i)
    expected.emplace_back(std::string(2, static_cast<char>('a' + random.below(3))), i * 1000);
  std::vector<std::pair<std::string, uint64_t>> shuffled = expected;
  std::shuffle(shuffled.begin(), shuffled.end(), random.engine());
  std::string memory;
  for (const auto& [key, position] : shuffled) {
    memory += key + std::string(reinterpret_cast<const char*>(&position), 2);  // its lower half is in the record, too
    memory.append(reinterpret_cast<const char*>(&position), sizeof position);
  }
  std::stable_sort(expected.begin(), expected.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  BucketSorter sorter(layout);
  sorter.sort({{memory.data(), memory.size()}}, kCount, {});
  std::string found(kCount * 4, '\0');
  ASSERT_EQ(sorter.copy_next(found.data(), found.size()), found.size());
  for (uint64_t i = 0; i < kCount; ++i) {
    const auto& [key, position] = expected[i];
    EXPECT_EQ(found.substr(4 * i, 4), key + std::string(reinterpret_cast<const char*>(&position), 2));
  }
}

std::string sorted_lines(const RecordLayout& layout, const std::vector<std::string>& lines,
                         const std::optional<BucketSorter::Repeated>& repeated) {
  std::string memory;
  uint64_t position = 0;
  for (const std::string& line : lines) {
    const auto bytes = static_cast<uint32_t>(line.size());
    memory.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    memory += line;
    if (layout.has_positions()) memory.append(reinterpret_cast<const char*>(&position), sizeof position);
    ++position;
  }
  BucketSorter sorter(layout);
  sorter.sort({{memory.data(), memory.size()}}, lines.size(), repeated);
  std::string found(memory.size() + 20 * lines.size(), '.');
  found.resize(sorter.copy_next(found.data(), found.size()));
  if (layout.is_unique()) {
    EXPECT_EQ(sorter.written_bytes(), found.size());
  }
  return found;
}

TEST(BucketSorter, sorts_lines_of_any_kind) {
  Random random(test_seed());
  const RecordLayout layout = RecordLayout::parse_lines("0", "", EqualKeys::unordered);
  const std::vector<std::function<std::string(uint64_t)>> kinds = {
      [&](uint64_t) { return random_bytes(random, random.below(30)); },
      [](uint64_t) { return std::string("always the same line"); },
      [](uint64_t i) { return std::string(i % 50, '\0'); },
      [&](uint64_t) { return std::string(40, 'a') + random_bytes(random, random.below(20)); },
      [&](uint64_t) { return std::string(random.below(40), 'a') + std::string(random.below(3), '\0'); },
  };
  for (const auto& kind : kinds)
    for (const uint64_t count : {0, 1, 300, 5000}) {
      std::vector<std::string> lines;
      for (uint64_t i = 0; i < count; ++i) lines.push_back(kind(i));
      const std::string found = sorted_lines(layout, lines, {});
      std::sort(lines.begin(), lines.end());
      std::string expected;
      for (const std::string& line : lines) expected += line + "\n";
      EXPECT_EQ(found, expected);
    }
}

TEST(BucketSorter, keeps_the_first_of_equal_keys_and_counts_them) {
  Random random(test_seed());
  for (const char* key : {"2", "2:number", "2:desc"}) {
    const RecordLayout layout = RecordLayout::parse_lines(key, "", EqualKeys::counted);
    std::vector<std::string> lines;
    for (int i = 0; i < 3000; ++i) lines.push_back(std::to_string(i) + " " + std::to_string(random.below(40)) + " x");
    std::vector<std::pair<std::string, uint64_t>> expected;  // the first one, and how many
    for (const std::string& line : lines) {
      const auto same = std::find_if(expected.begin(), expected.end(),
                                     [&](const auto& kept) { return layout.key(kept.first) == layout.key(line); });
      if (same == expected.end()) {
        expected.emplace_back(line, 1);
      } else {
        ++same->second;
      }
    }
    std::sort(expected.begin(), expected.end(), [&](const auto& first, const auto& second) {
      return layout.order().compare(layout.key(first.first), layout.key(second.first)) < 0;
    });
    expected.front().second = 1'000'000;
    const std::string front(layout.key(expected.front().first));
    std::string text;
    for (const auto& [line, count] : expected) {
      std::string written(layout.written_bytes(line, count), '.');
      layout.write(line, count, written.data());
      text += written;
    }
    EXPECT_EQ(sorted_lines(layout, lines, BucketSorter::Repeated{front, 1'000'000}), text);
  }
}

}  // namespace
}  // namespace spillway::sort
