#include "pgas/heap_blocks.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace spillway::pgas {
namespace {

TEST(HeapBlocks, gives_the_lowest_part_that_fits) {
  HeapBlocks heap(64, 64 + 160);
  EXPECT_EQ(heap.take(1), 64u);
  EXPECT_EQ(heap.take(33), 80u);  // three times 16
  EXPECT_EQ(heap.take(16), 128u);
  EXPECT_TRUE(heap.give_back(80));
  EXPECT_EQ(heap.take(80), 144u);
  EXPECT_EQ(heap.take(48), 80u);
  EXPECT_EQ(heap.take(1), std::nullopt);
}

TEST(HeapBlocks, keeps_to_an_alignment) {
  HeapBlocks heap(64, 8192);
  EXPECT_EQ(heap.take(100, 4096), 4096u);
  EXPECT_EQ(heap.take(4096 - 64), 64u);  // what the border left
  EXPECT_EQ(heap.take(1, 4096), std::nullopt);
}

TEST(HeapBlocks, parts_that_meet_are_one_again) {
  HeapBlocks heap(0, 96);
  for (uint64_t offset : {0u, 32u, 64u}) EXPECT_EQ(heap.take(32), offset);
  for (uint64_t offset : {0u, 64u, 32u}) EXPECT_TRUE(heap.give_back(offset));
  EXPECT_EQ(heap.take(96), 0u);
}

TEST(HeapBlocks, takes_back_only_what_it_gave) {
  HeapBlocks heap(0, 1024);
  EXPECT_EQ(heap.take(64), 0u);
  EXPECT_FALSE(heap.give_back(16));
  EXPECT_TRUE(heap.give_back(0));
  EXPECT_FALSE(heap.give_back(0));
}

TEST(HeapBlocks, refuses_sizes_beyond_all_numbers) {
  HeapBlocks heap(16, 1024);
  EXPECT_EQ(heap.take(UINT64_MAX), std::nullopt);
  EXPECT_EQ(heap.take(UINT64_MAX - 15), std::nullopt);
  EXPECT_EQ(heap.take(1, uint64_t{1} << 63), std::nullopt);
}

TEST(HeapBlocks, never_gives_a_byte_twice_and_loses_none) {
  constexpr uint64_t kBytes = 1 << 16;
  HeapBlocks heap(0, kBytes);
  std::mt19937 random(7);
  std::vector<std::pair<uint64_t, uint64_t>> parts;  // offsets and sizes
  std::vector<bool> is_taken(kBytes);
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 || parts.empty()) {
      const uint64_t bytes = 1 + random() % 3000;
      const uint64_t alignment = uint64_t{1} << random() % 9;
      const auto offset = heap.take(bytes, alignment);
      if (!offset) continue;
      ASSERT_EQ(*offset % alignment, 0u);
      ASSERT_LE(*offset + bytes, kBytes);
      for (uint64_t byte = *offset; byte < *offset + bytes; ++byte) {
        ASSERT_FALSE(is_taken[byte]);
        is_taken[byte] = true;
      }
      parts.emplace_back(*offset, bytes);
    } else {
      const auto chosen = parts.begin() + static_cast<std::ptrdiff_t>(random() % parts.size());
      for (uint64_t byte = chosen->first; byte < chosen->first + chosen->second; ++byte) is_taken[byte] = false;
      ASSERT_TRUE(heap.give_back(chosen->first));
      parts.erase(chosen);
    }
  }
  for (const auto& part : parts) ASSERT_TRUE(heap.give_back(part.first));
  EXPECT_EQ(heap.take(kBytes), 0u);
}

}  // namespace
}  // namespace spillway::pgas
