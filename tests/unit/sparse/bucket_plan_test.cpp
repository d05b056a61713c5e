#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "entry_buckets.h"

namespace apps {
namespace {

using Plan = BucketPlan<MatrixEntry>;
constexpr uint64_t kBlockRows = uint64_t{1} << Plan::kRowBlockBits;
constexpr uint64_t kBucketWeight = uint64_t{17} << 18;

// Entries and rows of the buckets; checks that they are all of the matrix's blocks, in order.
std::vector<uint64_t> bucket_weights(const Plan& plan, uint64_t row_count, const std::vector<uint64_t>& entries) {
  EXPECT_EQ(plan.first_rows.front(), 0);
  EXPECT_EQ(plan.first_rows.back(), row_count);
  EXPECT_EQ(plan.bucket_of_block.size(), entries.size());
  std::vector<uint64_t> weights(plan.bucket_count(), 0);
  for (size_t block = 0; block < entries.size(); ++block) {
    const uint32_t bucket = plan.bucket_of_block[block];
    const uint64_t last_row = std::min(row_count, (block + 1) * kBlockRows);
    EXPECT_LE(plan.first_rows[bucket], block * kBlockRows);
    EXPECT_GE(plan.first_rows[bucket + 1], last_row);
    weights[bucket] += entries[block] + last_row - block * kBlockRows;
  }
  return weights;
}

void expect_balanced(uint64_t row_count, const std::vector<uint64_t>& entries) {
  const Plan plan = Plan::balanced(row_count, entries);
  const std::vector<uint64_t> weights = bucket_weights(plan, row_count, entries);
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  const uint64_t largest_block = *std::max_element(entries.begin(), entries.end()) + kBlockRows;
  EXPECT_LE(plan.bucket_count(), 512);
  EXPECT_LE(*std::max_element(weights.begin(), weights.end()),
            std::max(kBucketWeight, total / 512 + 1) + largest_block);
}

TEST(BucketPlan, RowsWithoutEntriesAreDivided) { expect_balanced(100'000'000, std::vector<uint64_t>(390'625, 0)); }

TEST(BucketPlan, LongRowsAreDivided) { expect_balanced(25'600, std::vector<uint64_t>(100, 3'000'000)); }

TEST(BucketPlan, BlocksOfMoreThanHalfABucketMakeNoMoreThan512) {
  expect_balanced(2'560'000, std::vector<uint64_t>(10'000, uint64_t{1} << 40));
  std::vector<uint64_t> entries(10'000, 1);
  for (size_t block = 0; block < entries.size(); block += 2) {
    entries[block] = 3 * kBucketWeight / 4;
  }
  expect_balanced(2'559'999, entries);
}

TEST(BucketPlan, NoRowsAreOneBucket) { EXPECT_EQ(Plan::balanced(0, {}).bucket_count(), 1); }

}  // namespace
}  // namespace apps
