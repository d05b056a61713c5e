#include "sort/memory_plan.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "sort/bucket_sorter.h"
#include "sort/failure.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kMuch = uint64_t{1} << 40;
constexpr uint64_t kTail = kMiB;

MemoryPlan::Records records_of(uint64_t bytes, uint64_t unit = 100) {
  return {bytes, static_cast<double>(unit), unit, 0};
}

// How the largest bucket may differ from the others.
double uneven(const MemoryPlan::Records& records) { return records.tail_bytes != 0 ? 2.6 : 1.3; }

// That, or a message where there is no room for a chunk of each bucket: of data that are much more than the square of
// the memory, divided by the size of a chunk.
void expect_whole(const MemoryPlan::Records& records, uint64_t sorters, uint64_t owners, uint64_t memory,
                  bool are_on_nodes = false) {
  SCOPED_TRACE(std::to_string(records.bytes) + " bytes in units of " + std::to_string(records.unit_bytes) + ", " +
               std::to_string(sorters) + " sorters with " + std::to_string(memory));
  MemoryPlan plan{};
  try {
    plan = MemoryPlan::make(records, {sorters, owners, memory, kMuch, are_on_nodes});
  } catch (const Failure& failure) {
    const double with_index = 1 + BucketSorter::kEntryBytes / records.average_bytes;
    const auto most = static_cast<double>(memory) * static_cast<double>(memory) / (16 * 32 * 1024.0) / with_index;
    EXPECT_GT(static_cast<double>(records.bytes), most) << failure.what();
    return;
  }
  EXPECT_EQ(plan.block_bytes % records.unit_bytes, 0U);
  EXPECT_GE(plan.slot_bytes, plan.block_bytes + records.tail_bytes);
  EXPECT_GE(plan.bucket_count, sorters);
  EXPECT_EQ(plan.bucket_count % owners, 0U);
  EXPECT_GE(plan.chunks, plan.bucket_count + 4);
  EXPECT_GE(plan.heap_bytes, plan.slots * plan.slot_bytes);
  // A bucket that comes in while another one is sorted, and the index of that and its copy.
  const double bucket = uneven(records) * static_cast<double>(records.bytes) / static_cast<double>(plan.bucket_count);
  EXPECT_GE(static_cast<double>(plan.heap_bytes), 2 * bucket);
  const double index = 2.0 * BucketSorter::kEntryBytes * bucket / records.average_bytes;
  const double sorted = static_cast<double>(plan.heap_bytes) + index + 16.0 * kMiB;
  const double kept = plan.is_in_memory ? static_cast<double>(records.bytes) / static_cast<double>(sorters) : 0;
  EXPECT_LE(sorted + kept, 1.25 * static_cast<double>(memory));
  // What has come, what is on its way to other nodes, and chunks.
  const uint64_t dealing = (plan.slots + (are_on_nodes ? MemoryPlan::kMostReadings : 0)) * plan.slot_bytes;
  if (!plan.is_in_memory) {
    EXPECT_LE(dealing + plan.chunks * plan.chunk_bytes, memory);
  }
}

TEST(MemoryPlanTest, what_a_process_has_is_enough_for_what_it_does) {
  for (const uint64_t memory : {48 * kMiB, 100 * kMiB, 512 * kMiB, 16 * kGiB})
    for (const uint64_t bytes : {uint64_t{1}, 100 * uint64_t{7}, 3 * kMiB, 100 * kMiB, kGiB, 7 * kGiB})
      for (const uint64_t unit : {uint64_t{1}, uint64_t{8}, uint64_t{100}, kMiB})
        for (const uint64_t sorters : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{64}})
          for (const bool are_on_nodes : {false, true})
            expect_whole(records_of(bytes, unit), sorters, sorters, memory, are_on_nodes);
}

TEST(MemoryPlanTest, lines_may_be_more_uneven) {
  for (const uint64_t bytes : {3 * kMiB, kGiB}) expect_whole({bytes, 30, 1, kTail}, 2, 2, 100 * kMiB);
}

TEST(MemoryPlanTest, who_only_reads_finishes_buckets_too) { expect_whole(records_of(kGiB), 3, 5, 100 * kMiB); }

TEST(MemoryPlanTest, what_fits_is_not_written) {
  EXPECT_TRUE(MemoryPlan::make(records_of(100 * kMiB), {2, 2, 200 * kMiB, kMuch, false}).is_in_memory);
  EXPECT_FALSE(MemoryPlan::make(records_of(1000 * kMiB), {2, 2, 200 * kMiB, kMuch, false}).is_in_memory);
}

TEST(MemoryPlanTest, buckets_fit_into_the_memory_that_processes_share) {
  const MemoryPlan plan = MemoryPlan::make(records_of(kGiB), {2, 2, 4 * kGiB, 64 * kMiB, false});
  EXPECT_LE(plan.heap_bytes, 64 * kMiB);
  EXPECT_GT(plan.bucket_count, MemoryPlan::make(records_of(kGiB), {2, 2, 4 * kGiB, kMuch, false}).bucket_count);
}

TEST(MemoryPlanTest, chunks_are_smaller_where_buckets_are_many) {
  const MemoryPlan few = MemoryPlan::make(records_of(kGiB), {2, 2, 100 * kMiB, kMuch, false});
  const MemoryPlan many = MemoryPlan::make(records_of(20 * kGiB), {2, 2, 100 * kMiB, kMuch, false});
  EXPECT_LT(many.chunk_bytes, few.chunk_bytes);
  EXPECT_LE(many.chunk_bytes * many.bucket_count, 50 * kMiB);
}

// 16 TB on 6,144 of 8,192 processes, as the simulation of bench/sort has them.
TEST(MemoryPlanTest, many_sorters_have_a_chunk_for_each_of_their_many_buckets) {
  constexpr uint64_t kBytes = 16'000'000'000'000, kMemory = 1'750'000'000;
  const MemoryPlan plan = MemoryPlan::make(records_of(kBytes), {6144, 6144, kMemory, kMemory / 2, true});
  EXPECT_GE(plan.bucket_count, 49'152U);
  EXPECT_EQ(plan.chunk_bytes, 8U << 10);
  EXPECT_LE(plan.chunk_bytes * plan.bucket_count, kMemory / 2);
}

void expect_refused(const MemoryPlan::Records& records, uint64_t memory, uint64_t shared, const std::string& cause) {
  try {
    MemoryPlan::make(records, {2, 2, memory, shared, false});
    ADD_FAILURE() << "not refused";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find(cause), std::string::npos) << failure.what();
  }
}

TEST(MemoryPlanTest, blocks_are_larger_between_nodes_where_memory_is_much) {
  const auto block_bytes = [](uint64_t memory, bool are_on_nodes) {
    return MemoryPlan::make(records_of(8 * kGiB), {2, 2, memory, kMuch, are_on_nodes}).block_bytes;
  };
  EXPECT_LE(block_bytes(4 * kGiB, false), 4 * kMiB);
  EXPECT_GT(block_bytes(4 * kGiB, true), 15 * kMiB);
  EXPECT_LE(block_bytes(96 * kMiB, true), 3 * kMiB);
}

TEST(MemoryPlanTest, too_little_is_refused) {
  expect_refused(records_of(kGiB), 47 * kMiB, kMuch, "47 MiB of memory for each process are too few");
  expect_refused(records_of(kGiB), kGiB, 8 * kMiB, "a process can have 8 MiB of shared memory (/dev/shm)");
  expect_refused(records_of(kMuch), 48 * kMiB, kMuch, "1048576 MiB are too many for 48 MiB");
  // The chunks of all buckets would fit, what is known of those in the file would not.
  expect_refused(records_of(20 * kGiB), 48 * kMiB, kMuch, "20480 MiB are too many for 48 MiB");
}

}  // namespace
}  // namespace spillway::sort
