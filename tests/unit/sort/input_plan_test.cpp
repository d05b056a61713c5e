#include "sort/input_plan.h"

#include <gtest/gtest.h>

namespace spillway::sort {
namespace {

TEST(InputPlan, divides_files_into_blocks_of_whole_records) {
  const InputPlan plan({{"a", 70}, {"empty", 0}, {"b", 30}, {"c", 10}}, 30, 0);
  EXPECT_EQ(plan.total_bytes(), 110u);
  EXPECT_EQ(plan.files().size(), 3u);
  const uint64_t expected[][4] = {{0, 0, 30, 0}, {0, 30, 30, 30}, {0, 60, 10, 60}, {1, 0, 30, 70}, {2, 0, 10, 100}};
  ASSERT_EQ(plan.block_count(), std::size(expected));
  for (uint64_t number = 0; number < std::size(expected); ++number) {
    const InputPlan::Block block = plan.block(number);
    EXPECT_EQ(block.file, expected[number][0]);
    EXPECT_EQ(block.offset, expected[number][1]);
    EXPECT_EQ(block.bytes, expected[number][2]);
    EXPECT_EQ(block.position, expected[number][3]);
  }
}

TEST(InputPlan, knows_where_each_record_is) {
  const InputPlan plan({{"a", 70}, {"b", 30}, {"c", 10}}, 30, 0);
  const uint64_t expected[][2] = {{0, 0},  {0, 10}, {0, 20}, {0, 30}, {0, 40}, {0, 50},
                                  {0, 60}, {1, 0},  {1, 10}, {1, 20}, {2, 0}};
  for (uint64_t record = 0; record < std::size(expected); ++record) {
    EXPECT_EQ(plan.place(10 * record).file, expected[record][0]);
    EXPECT_EQ(plan.place(10 * record).offset, expected[record][1]);
  }
}

TEST(InputPlan, reads_from_a_border_of_blocks_to_behind_the_end) {
  const InputPlan plan({{"a", 10'000}, {"b", 9'000}}, 5'000, 100);
  const uint64_t expected[][2] = {{0, 5'100}, {4'096, 5'904}, {0, 5'100}, {4'096, 4'904}};
  ASSERT_EQ(plan.block_count(), std::size(expected));
  for (uint64_t number = 0; number < std::size(expected); ++number) {
    EXPECT_EQ(plan.block(number).read_offset, expected[number][0]);
    EXPECT_EQ(plan.block(number).read_bytes, expected[number][1]);
  }
}

TEST(InputPlan, of_nothing_has_no_blocks) {
  EXPECT_EQ(InputPlan({}, 10, 30).block_count(), 0u);
  EXPECT_EQ(InputPlan({{"empty", 0}}, 10, 30).block_count(), 0u);
}

}  // namespace
}  // namespace spillway::sort
