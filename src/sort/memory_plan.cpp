#include "sort/memory_plan.h"

#include <algorithm>
#include <string>

#include "sort/aligned_memory.h"
#include "sort/bucket_sorter.h"
#include "sort/failure.h"
#include "storage/spill_file.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLeastMemory = 48 * kMiB;
constexpr uint64_t kMostBlockBytes = 4 * kMiB;             // larger ones are in no cache,
constexpr uint64_t kMostBlockBytesAmongNodes = 16 * kMiB;  // but there each takes some round trips
constexpr uint64_t kLeastBlockBytes = 64 << 10;
constexpr uint64_t kMostChunkBytes = kMiB;
constexpr uint64_t kLeastChunkBytes = 32 << 10;       // in a quarter of the memory,
constexpr uint64_t kLeastChunkBytesOfMany = 8 << 10;  // and where that is not enough, in half of it,
constexpr uint64_t kKnownOfChunk = 32;                // with its place and checksum, which then are many
constexpr uint64_t kSlots = 4;
constexpr uint64_t kOutputBytes = 4 * 4 * kMiB;
constexpr double kMostBucketBytes = 128.0 * kMiB;  // larger ones are sorted no faster,
constexpr double kManyBuckets = 4096;              // unless there are so many that samples are few
constexpr uint64_t kLeastBucketBytes = kMiB;
constexpr uint64_t kLeastRounds = 4;        // so that reading, sorting and writing overlap
constexpr uint64_t kRestOfHeap = 8 * kMiB;  // words, and what small inputs are uneven by

// How far a bucket may be larger than all on average: samples divide only about evenly.
constexpr double kUneven = 1.3;
// And of lines, which are short here and long there: Splitters divides bytes and memory, and no bucket has more than
// twice its part of both.
constexpr double kUnevenLines = 2 * kUneven;

}  // namespace

MemoryPlan MemoryPlan::make(const Records& records, const Processes& processes) {
  const uint64_t total_bytes = records.bytes;
  const uint64_t sorters = processes.sorters;
  const uint64_t memory_bytes = processes.memory_bytes;
  const uint64_t shared_bytes = processes.shared_bytes;
  if (memory_bytes < kLeastMemory)
    throw Failure(std::to_string(memory_bytes / kMiB) + " MiB of memory for each process are too few to sort in",
                  "give " + std::to_string(kLeastMemory / kMiB) + " MiB to each (--memory), or use fewer (-n)");
  const double uneven = records.tail_bytes != 0 ? kUnevenLines : kUneven;
  MemoryPlan plan{};
  const uint64_t share = std::max<uint64_t>(total_bytes / sorters, 1);
  const uint64_t block = std::clamp(std::min({share / 16, memory_bytes / 32, shared_bytes / 16}), kLeastBlockBytes,
                                    processes.are_on_several_nodes ? kMostBlockBytesAmongNodes : kMostBlockBytes);
  plan.block_bytes = std::max<uint64_t>(block / records.unit_bytes, 1) * records.unit_bytes;
  plan.slot_bytes = whole_blocks(plan.block_bytes + records.tail_bytes) + 2 * storage::kBlockBytes;
  plan.slots = kSlots;
  const uint64_t staging = plan.slots * plan.slot_bytes;
  // Two buckets in turn, the index of the one that is sorted and its copy, and what is written.
  const double of_bucket = 2.0 + 2.0 * BucketSorter::kEntryBytes / records.average_bytes;
  // Within a node they are read into staging buffers.
  const uint64_t on_their_way = processes.are_on_several_nodes ? kMostReadings * plan.slot_bytes : 0;
  const auto room = static_cast<double>(memory_bytes - kOutputBytes - staging - on_their_way);
  plan.is_in_memory = static_cast<double>(share) * 1.1 <= room / 2;
  const double room_for_buckets = plan.is_in_memory ? room / 2 : room;
  // Each process's part of a bucket begins on a border of blocks.
  const uint64_t borders = sorters * storage::kBlockBytes;
  const uint64_t rest = kRestOfHeap + 2 * borders;
  if (shared_bytes < staging + rest || shared_bytes < rest + kLeastBucketBytes)
    throw Failure("a process can have " + std::to_string(shared_bytes / kMiB) +
                      " MiB of shared memory (/dev/shm), and " +
                      std::to_string((staging + rest + kLeastBucketBytes) / kMiB) + " MiB are needed",
                  "make it larger (mount -o remount,size=8G /dev/shm; of containers --shm-size), or use fewer "
                  "processes (-n)");
  const auto shared_for_buckets = static_cast<double>(shared_bytes - rest);
  const double most_bucket_bytes =
      std::min({room_for_buckets / of_bucket / uneven, shared_for_buckets / 2 / uneven,
                std::max(kMostBucketBytes, static_cast<double>(total_bytes) / kManyBuckets)});
  const auto rounds = static_cast<uint64_t>(static_cast<double>(share) / most_bucket_bytes) + 1;
  const uint64_t least_buckets = sorters * std::max<uint64_t>(rounds, share > kMiB ? kLeastRounds : 1);
  plan.bucket_count = (least_buckets + processes.owners - 1) / processes.owners * processes.owners;
  plan.chunk_bytes = kMostChunkBytes;
  while (plan.chunk_bytes * plan.bucket_count > memory_bytes / 4 && plan.chunk_bytes > kLeastChunkBytes)
    plan.chunk_bytes /= 2;
  const auto do_chunks_fit = [&] {
    const uint64_t known = plan.chunk_bytes < kLeastChunkBytes ? share / plan.chunk_bytes * kKnownOfChunk : 0;
    return plan.chunk_bytes * plan.bucket_count + known <= memory_bytes / 2;
  };
  while (!do_chunks_fit() && plan.chunk_bytes > kLeastChunkBytesOfMany) plan.chunk_bytes /= 2;
  if (!do_chunks_fit())
    throw Failure(std::to_string(total_bytes / kMiB) + " MiB are too many for " + std::to_string(memory_bytes / kMiB) +
                      " MiB of memory of each process: they are " + std::to_string(plan.bucket_count) + " buckets",
                  "give each process more (--memory)");
  plan.chunks = plan.bucket_count + std::max<uint64_t>(8 * kMiB / plan.chunk_bytes, 4);
  const double bucket_bytes = static_cast<double>(total_bytes) / static_cast<double>(plan.bucket_count);
  plan.heap_bytes = std::max(staging, static_cast<uint64_t>(uneven * bucket_bytes) * 2) + rest;
  return plan;
}

}  // namespace spillway::sort
