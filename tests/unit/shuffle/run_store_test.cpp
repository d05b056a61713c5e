#include "shuffle/run_store.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include "sample_records.h"
#include "shuffle/run_writer.h"
#include "storage/scratch_directory.h"

#include <cstring>
#include <filesystem>

namespace spillway::shuffle {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint32_t kPartitions = 3;
constexpr size_t kPieceBytes = 16 << 10;
constexpr Combiner kNoCombiner;

class RunStoreTest : public testing::Test {
 protected:
  RunStore::Settings settings(uint64_t memory_bytes) { return {kPartitions, memory_bytes, {directory_.path()}}; }

  // Returns what has been delivered to each partition.
  std::vector<std::vector<TextRecord>> deliver(RunStore& store, Random& random, int runs, size_t records) {
    std::vector<std::vector<TextRecord>> delivered(kPartitions);
    for (int i = 0; i < runs; ++i) {
      const auto partition = static_cast<uint32_t>(random.below(kPartitions));
      const std::vector<TextRecord> list = sorted(random_records(random, records));
      delivered[partition].insert(delivered[partition].end(), list.begin(), list.end());
      deliver_run(store, partition, list);
    }
    return delivered;
  }

  static void deliver_run(RunStore& store, uint32_t partition, const std::vector<TextRecord>& records) {
    shuffle::Run run = run_of(records);
    store.charge(run.resident_bytes());
    store.deliver(0, partition, std::move(run));
  }

  void expect_records(RunStore& store, std::vector<std::vector<TextRecord>> expected) {
    store.finish();
    for (uint32_t partition = 0; partition < kPartitions; ++partition) {
      std::vector<TextRecord> found;
      {
        RunMerge merge = store.open(partition);
        for (Record record; merge.next(record);) found.push_back(copy_of(record));
      }
      store.close(partition);
      EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                                 [](const auto& first, const auto& second) { return first.first < second.first; }));
      EXPECT_EQ(sorted(found), sorted(expected[partition]));
    }
  }

  const KeyOrder order_{ItemClass::bytes};
  storage::ScratchDirectory directory_;
};

TEST_F(RunStoreTest, gives_back_what_is_in_memory) {
  Random random(test_seed());
  RunStore store(settings(64 * kMiB), order_, kNoCombiner);
  const auto expected = deliver(store, random, 50, 100);
  expect_records(store, expected);
  EXPECT_EQ(store.spilled_bytes(), 0u);
}

TEST_F(RunStoreTest, gives_back_what_has_been_spilled) {
  Random random(test_seed());
  RunStore store(settings(kMiB), order_, kNoCombiner);
  const auto expected = deliver(store, random, 300, 1000);
  EXPECT_GT(store.spilled_bytes(), kMiB);
  expect_records(store, expected);
}

TEST_F(RunStoreTest, merges_spilled_runs_when_there_are_many) {
  Random random(test_seed());
  RunStore store(settings(64 << 10), order_, kNoCombiner);
  const auto expected = deliver(store, random, 200, 600);
  EXPECT_GT(store.spilled_runs(), 64u);
  expect_records(store, expected);
}

TEST_F(RunStoreTest, merges_in_memory_when_there_are_many_runs) {
  Random random(test_seed());
  RunStore store(settings(64 * kMiB), order_, kNoCombiner);
  const auto expected = deliver(store, random, 2000, 3);
  expect_records(store, expected);
}

TEST_F(RunStoreTest, records_may_be_longer_than_all_buffers) {
  RunStore store(settings(kMiB), order_, kNoCombiner);
  std::vector<std::vector<TextRecord>> expected(kPartitions);
  for (int i = 0; i < 40; ++i) {
    const TextRecord record{std::string(1 + i % 3, 'k') + std::string(200000, 'k'), std::string(900000 + i, 'v')};
    expected[1].push_back(record);
    deliver_run(store, 1, {record});
    deliver_run(store, 1, {{"short", ""}});
    expected[1].emplace_back("short", "");
  }
  EXPECT_GT(store.spilled_bytes(), kMiB);
  expect_records(store, expected);
}

uint64_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(RunStoreTest, the_last_merge_has_its_buffers_in_half_of_the_memory) {
  RunStore store(settings(kMiB), order_, kNoCombiner);
  const std::vector<TextRecord> list(110, {"key", std::string(7500, 'v')});  // so large that each is spilled by itself
  constexpr size_t kRuns = 63;  // 16 at a time are merged, so that 18 would be left
  for (size_t i = 0; i < kRuns; ++i) deliver_run(store, 1, list);
  store.finish();
  const uint64_t before = allocated_bytes();
  RunMerge merge = store.open(1);
  EXPECT_LT(allocated_bytes() - before, (16 * 2 + 2) * kPieceBytes);  // and smaller things
  size_t found = 0;
  for (Record record; merge.next(record);) ++found;
  EXPECT_EQ(found, kRuns * list.size());
}

// However the records of a run lie in its chunks; the last one need not be full.
TEST_F(RunStoreTest, a_spilled_run_is_read_as_it_was_written) {
  SpillSpace space({directory_.path()});
  for (const size_t bytes : {1, 99, 4096, 16 << 10, 1 << 20}) {
    const TextRecord record{"key", std::string(bytes, 'v')};
    const size_t count = (5 << 20) / bytes / 20 + 1;
    SpilledRunWriter writer(space, count * record_bytes(view_of(record)), kPieceBytes);
    for (size_t i = 0; i < count; ++i) writer.add(view_of(record));
    const shuffle::Run run = writer.finish();
    EXPECT_EQ(run.checksums.size(), (run.bytes + kPieceBytes - 1) / kPieceBytes);
    for (const size_t pieces : {1, 3, 32}) {
      SpilledCursor cursor(run, space, pieces * kPieceBytes, nullptr);
      size_t found = 0;
      for (Record next; cursor.next(next); ++found) ASSERT_EQ(copy_of(next), record);
      EXPECT_EQ(found, count);
    }
    space.release(run.offset, run.bytes);
  }
}

TEST_F(RunStoreTest, a_run_that_has_been_damaged_ends_the_process) {
  SpillSpace space({directory_.path()});
  SpilledRunWriter writer(space, 1 << 20, kPieceBytes);
  for (int i = 0; i < 1000; ++i) writer.add({"key", std::string(500, 'v')});
  const shuffle::Run run = writer.finish();
  const AlignedBuffer block = aligned_buffer(storage::kBlockBytes);
  const uint64_t place = run.offset + (run.bytes / 2) / storage::kBlockBytes * storage::kBlockBytes;
  space.read(block.get(), storage::kBlockBytes, place);
  block.get()[100] ^= 1;
  space.write(block.get(), storage::kBlockBytes, place);
  const auto read_all = [&] {
    SpilledCursor cursor(run, space, 4 * kPieceBytes, nullptr);
    for (Record record; cursor.next(record);) continue;
  };
  EXPECT_DEATH(read_all(), "read something else from the spill directory .* than had been written");
}

TEST_F(RunStoreTest, a_merge_may_be_given_up_while_it_reads_ahead) {
  Random random(test_seed());
  RunStore store(settings(kMiB), order_, kNoCombiner);
  deliver(store, random, 100, 1000);
  store.finish();
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    {
      RunMerge merge = store.open(partition);
      Record record;
      merge.next(record);
    }
    store.close(partition);
  }
}

// Sizes of this process's open files in two directories.
std::vector<uint64_t> open_file_sizes(const char* first, const char* second) {
  std::vector<uint64_t> sizes;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(file, gone);
    for (const char* directory : {first, second})
      if (target.starts_with(directory + std::string("/"))) sizes.push_back(std::filesystem::file_size(file));
  }
  return sizes;
}

TEST_F(RunStoreTest, directories_take_turns_and_nothing_stays_open) {
  const storage::ScratchDirectory other;
  auto whole = std::make_unique<SpillSpace>(std::vector<std::string>{directory_.path(), other.path()});
  SpillSpace& space = *whole;
  const AlignedBuffer block = aligned_buffer(storage::kBlockBytes);
  std::vector<uint64_t> places;
  for (char i = 0; i < 8; ++i) {
    places.push_back(space.allocate(storage::kBlockBytes));
    std::memset(block.get(), i, storage::kBlockBytes);
    space.write(block.get(), storage::kBlockBytes, places.back());
  }
  for (char i = 0; i < 8; ++i) {
    space.read(block.get(), storage::kBlockBytes, places[static_cast<size_t>(i)]);
    EXPECT_EQ(block.get()[17], i);
  }
  EXPECT_EQ(open_file_sizes(directory_.path(), other.path()), std::vector<uint64_t>(2, 4 * storage::kBlockBytes));
  for (const uint64_t place : places) space.release(place, storage::kBlockBytes);
  for (int i = 0; i < 8; ++i) space.allocate(storage::kBlockBytes);
  EXPECT_EQ(space.size(), 8 * storage::kBlockBytes);
  whole.reset();
  EXPECT_EQ(open_file_sizes(directory_.path(), other.path()), std::vector<uint64_t>{});
}

// So much may be in a file, as if its device were full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(uint64_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(RunStoreTest, a_directory_without_room_is_passed_over) {
  const storage::ScratchDirectory other;
  SpillSpace space({directory_.path(), other.path()});
  const FileSizeLimit limit(kMiB);
  const auto place_number = [](uint64_t offset) { return offset >> 52; };
  EXPECT_EQ(place_number(space.allocate(kMiB - storage::kBlockBytes)), 0u);
  EXPECT_EQ(place_number(space.allocate(storage::kBlockBytes)), 1u);
  for (uint64_t i = 0; i < 4; ++i)  // whoever's turn it is
    EXPECT_EQ(space.allocate(kMiB / 8), (uint64_t{1} << 52) + storage::kBlockBytes + i * kMiB / 8);
  EXPECT_EQ(space.allocate(storage::kBlockBytes), kMiB - storage::kBlockBytes);  // the first one has room for that
  EXPECT_EQ(space.size(), kMiB + storage::kBlockBytes + 4 * kMiB / 8);
}

TEST_F(RunStoreTest, directories_without_room_end_the_process) {
  const storage::ScratchDirectory other;
  EXPECT_EXIT(
      {
        SpillSpace space({directory_.path(), other.path()});
        const FileSizeLimit limit(kMiB);
        for (int i = 0; i < 3; ++i) space.allocate(kMiB);
      },
      testing::ExitedWithCode(1), "cannot put 1 MiB more into the spill directory");
}

TEST_F(RunStoreTest, a_directory_in_which_no_file_can_be_made_is_passed_over) {
  const std::string gone = directory_.path() + std::string("/gone");
  SpillSpace space({gone, directory_.path()});
  for (uint64_t i = 0; i < 4; ++i) EXPECT_EQ(space.allocate(kMiB), (uint64_t{1} << 52) + i * kMiB);
  EXPECT_EXIT(SpillSpace({gone}).allocate(kMiB), testing::ExitedWithCode(1),
              "cannot create a file in the spill directory .*/gone");
}

TEST_F(RunStoreTest, takes_space_again_that_merges_have_left) {
  Random random(test_seed());
  SpillSpace space({directory_.path()});
  std::vector<std::pair<uint64_t, uint64_t>> used;
  for (int i = 0; i < 1000; ++i) {
    if (used.size() < 8) {
      const uint64_t bytes = 1 + random.below(1 << 16);
      used.emplace_back(space.allocate(bytes), bytes);
    } else {
      std::swap(used[random.below(used.size())], used.back());
      space.release(used.back().first, used.back().second);
      used.pop_back();
    }
  }
  EXPECT_LT(space.size(), 2 * kMiB);
  std::sort(used.begin(), used.end());
  for (size_t i = 1; i < used.size(); ++i) EXPECT_GE(used[i].first, used[i - 1].first + used[i - 1].second);
}

}  // namespace
}  // namespace spillway::shuffle
