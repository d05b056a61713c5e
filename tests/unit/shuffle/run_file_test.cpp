#include "shuffle/run_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "sample_records.h"
#include "shuffle/run_store.h"
#include "storage/scratch_directory.h"

namespace spillway::shuffle {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr size_t kPieceBytes = Run::kLeastPieceBytes;
constexpr Combiner kNoCombiner;

// Runs in a file, one behind the other, with a few bytes between them that belong to none.
class RunFileTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  shuffle::Run add(const std::vector<TextRecord>& records) {
    content_.append(24, '\xff');
    const shuffle::Run in_memory = run_of(records);
    shuffle::Run run;
    run.is_spilled = true;
    run.bytes = in_memory.bytes;
    run.records = in_memory.records;
    run.offset = content_.size() / kPieceBytes * kPieceBytes;
    run.bytes_before = content_.size() - run.offset;
    run.piece_bytes = kPieceBytes;
    for (const TextRecord& record : records)
      run.longest_record = std::max<uint64_t>(run.longest_record, record_bytes(view_of(record)));
    content_.append(in_memory.memory.data(), in_memory.bytes);
    return run;
  }

  // Of runs that have been added, when all have.
  void complete(std::vector<shuffle::Run*> runs) {
    content_.resize(rounded_to_blocks(content_.size()), '\0');
    std::ofstream(path_, std::ios::binary) << content_;
    const auto file = std::make_shared<RunFile>(path_, false);
    for (shuffle::Run* run : runs) {
      const uint64_t end = run->offset + run->bytes_before + run->bytes;
      const uint64_t pieces_end = (end + kPieceBytes - 1) / kPieceBytes * kPieceBytes;
      run->bytes_behind = std::min<uint64_t>(pieces_end, content_.size()) - end;
      for (uint64_t piece = run->offset; piece < end; piece += kPieceBytes)
        run->checksums.push_back(
            piece_checksum(content_.data() + piece, std::min<uint64_t>(kPieceBytes, content_.size() - piece)));
      run->file = file;
    }
  }

  static std::vector<TextRecord> take_all(RunStore& store, uint32_t partition) {
    std::vector<TextRecord> found;
    {
      RunMerge merge = store.open(partition);
      for (Record record; merge.next(record);) found.push_back(copy_of(record));
    }
    store.close(partition);
    return found;
  }

  static bool is_direct(const base::Descriptor& file) {
    return fcntl(file.number(), F_SETFL, O_DIRECT) == 0 && fcntl(file.number(), F_SETFL, 0) == 0;
  }

  static uint64_t cached_pages(const base::Descriptor& file, uint64_t bytes) {
    void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.number(), 0);
    EXPECT_NE(mapped, MAP_FAILED);
    std::vector<unsigned char> pages(bytes / storage::kBlockBytes);
    EXPECT_EQ(mincore(mapped, bytes, pages.data()), 0);
    munmap(mapped, bytes);
    return static_cast<uint64_t>(
        std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1; }));
  }

  const KeyOrder order_{ItemClass::bytes};
  storage::ScratchDirectory directory_;
  const std::string path_ = directory_.path() + std::string("/runs");
  std::string content_ = std::string(storage::kBlockBytes, '\0');
};

TEST_F(RunFileTest, runs_are_merged_with_those_in_memory_and_the_file_stays) {
  Random random(test_seed());
  for (const uint64_t memory : {64 * kMiB, kMiB / 16}) {  // in memory; spilled, and in more than one merge
    content_.assign(storage::kBlockBytes, '\0');
    std::vector<TextRecord> expected;
    std::vector<shuffle::Run> runs;
    for (int i = 0; i < 60; ++i) {
      const std::vector<TextRecord> list = sorted(random_records(random, 1 + random.below(3000)));
      expected.insert(expected.end(), list.begin(), list.end());
      runs.push_back(add(list));
    }
    std::vector<shuffle::Run*> all;
    for (shuffle::Run& run : runs) all.push_back(&run);
    complete(all);
    RunStore store({1, memory, {directory_.path()}}, order_, kNoCombiner);
    for (shuffle::Run& run : runs) {
      store.deliver(0, 0, std::move(run));
      const std::vector<TextRecord> list = sorted(random_records(random, 100));
      expected.insert(expected.end(), list.begin(), list.end());
      shuffle::Run other = run_of(list);
      store.charge(other.resident_bytes());
      store.deliver(0, 0, std::move(other));
    }
    store.finish();
    EXPECT_EQ(store.spilled_bytes() != 0, memory < kMiB);
    EXPECT_EQ(sorted(take_all(store, 0)), sorted(expected));
    EXPECT_EQ(std::filesystem::file_size(path_), content_.size());
  }
}

// The last piece may end with the file or behind other records; chunks of the file begin before a run, or in it.
TEST_F(RunFileTest, a_run_begins_and_ends_anywhere) {
  SpillSpace space({directory_.path()});
  std::vector<std::vector<TextRecord>> lists;
  std::vector<shuffle::Run> runs;
  for (const size_t bytes : {1, 7000, 9271, 16'353, 16'384, 1, 50'000, 200'000, 3}) {
    lists.push_back({{"key", std::string(bytes, 'v')}, {"other", "value"}});
    runs.push_back(add(lists.back()));
  }
  std::vector<shuffle::Run*> all;
  for (shuffle::Run& run : runs) all.push_back(&run);
  complete(all);
  for (size_t i = 0; i < runs.size(); ++i) {
    for (const size_t pieces : {1, 2, 32}) {
      SpilledCursor cursor(runs[i], space, pieces * kPieceBytes, nullptr);
      std::vector<TextRecord> found;
      for (Record record; cursor.next(record);) found.push_back(copy_of(record));
      EXPECT_EQ(found, lists[i]);
    }
  }
}

TEST_F(RunFileTest, a_file_is_read_by_way_of_the_file_cache_or_past_it) {
  constexpr uint64_t kBytes = 64 * storage::kBlockBytes;
  for (uint64_t i = content_.size(); i < kBytes; ++i) content_.push_back(static_cast<char>(i * 7 + i / 251));
  std::ofstream(path_, std::ios::binary) << content_;
  const base::Descriptor descriptor(open(path_.c_str(), O_RDWR | O_CLOEXEC));
  const AlignedBuffer read = aligned_buffer(kBytes);
  for (const bool is_cached : {false, true}) {
    ASSERT_EQ(fdatasync(descriptor.number()), 0);
    ASSERT_EQ(posix_fadvise(descriptor.number(), 0, 0, POSIX_FADV_DONTNEED), 0);
    ASSERT_EQ(cached_pages(descriptor, kBytes), 0);
    const RunFile file(path_, is_cached);
    for (const uint64_t offset : {uint64_t{0}, 7 * storage::kBlockBytes, 60 * storage::kBlockBytes}) {
      std::memset(read.get(), 0, kBytes);
      ASSERT_EQ(file.try_read(read.get(), kBytes - offset, offset), 0);
      EXPECT_EQ(std::string_view(read.get(), kBytes - offset), std::string_view(content_).substr(offset));
    }
    EXPECT_EQ(file.try_read(read.get(), kBytes, storage::kBlockBytes), EIO);  // it ends before
    if (is_cached) {
      EXPECT_EQ(cached_pages(descriptor, kBytes), kBytes / storage::kBlockBytes);
    } else if (is_direct(descriptor)) {
      EXPECT_LT(cached_pages(descriptor, kBytes), 8);
    }
  }
}

TEST_F(RunFileTest, a_file_that_changes_or_goes_ends_the_process) {
  SpillSpace space({directory_.path()});
  shuffle::Run run = add(std::vector<TextRecord>(1000, {"key", std::string(500, 'v')}));
  complete({&run});
  const auto read_all = [&] {
    SpilledCursor cursor(run, space, 4 * kPieceBytes, nullptr);
    for (Record record; cursor.next(record);) continue;
  };
  read_all();
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(200'000).put('w');
  EXPECT_DEATH(read_all(), "/runs has changed since the job began\n.*checksums differ");
  std::filesystem::resize_file(path_, 300'000);
  std::fstream(path_, std::ios::in | std::ios::out | std::ios::binary).seekp(200'000).put('v');
  EXPECT_DEATH(read_all(), "cannot read .*/runs at byte 262144\n.*Cause:  Input/output error");
  std::filesystem::remove(path_);
  EXPECT_DEATH(read_all(), "cannot read .*/runs at byte 0\n.*Cause:  No such file or directory");
}

}  // namespace
}  // namespace spillway::shuffle
