#include "shuffle/run_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

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
    const auto file = std::make_shared<RunFile>(path_);
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
