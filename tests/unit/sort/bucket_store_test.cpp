#include "sort/bucket_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <set>
#include <string>
#include <vector>

#include "seed.h"
#include "sort/failure.h"
#include "storage/scratch_directory.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kBuckets = 5;
constexpr uint64_t kChunkBytes = 8192;
constexpr uint64_t kMiB = 1 << 20;

std::string read_back(BucketStore& store, uint64_t bucket, AsyncIo& io) {
  std::string found(store.bucket_bytes()[bucket], '\0');
  store.for_each_piece(bucket, [&](const BucketStore::Piece& piece) {
    if (piece.memory != nullptr) {
      found.replace(piece.place, piece.bytes, piece.memory, piece.bytes);
      return;
    }
    const AlignedMemory memory(piece.bytes);
    io.read(store.file(), memory.data(), memory.bytes(), piece.bytes, piece.file_offset, [] {});
    io.finish();
    store.check(piece, memory.data());
    found.replace(piece.place, piece.bytes, memory.data(), piece.bytes);
    memory.data()[piece.bytes / 2] ^= 1;
    EXPECT_THROW(store.check(piece, memory.data()), Failure);
  });
  return found;
}

class BucketStoreTest : public testing::TestWithParam<bool> {};

TEST_P(BucketStoreTest, keeps_records_of_all_sizes) {
  Random random(test_seed());
  const storage::ScratchDirectory directory;
  AsyncIo io;
  BucketStore store(kBuckets, kChunkBytes, kBuckets + 2, GetParam(), directory.path(), io);
  std::vector<std::string> expected(kBuckets);
  for (int i = 0; i < 3000; ++i) {
    const auto bucket = static_cast<uint32_t>(random.below(kBuckets - 1));  // one stays empty
    const std::string record(1 + random.below(random.one_in(100) ? 3 * kChunkBytes : 100),
                             static_cast<char>('a' + random.below(26)));
    store.add(bucket, {}, record, {});
    expected[bucket] += record;
  }
  const std::string exact(kChunkBytes - expected[0].size() % kChunkBytes, '!');  // the last chunk is full
  store.add(0, {}, exact, {});
  expected[0] += exact;
  store.finish();
  io.finish();
  store.free_memory();
  for (uint64_t bucket = 0; bucket < kBuckets; ++bucket) EXPECT_EQ(read_back(store, bucket, io), expected[bucket]);
}

// Which would wait for those before it.
TEST(SpilledBucketStoreTest, writes_do_not_make_its_file_longer) {
  const storage::ScratchDirectory directory;
  AsyncIo io;
  BucketStore store(1, kMiB, 3, false, directory.path(), io);
  if (!store.file().is_direct) GTEST_SKIP() << "NOT TESTED: no direct I/O in " << directory.path();
  const std::string record(kMiB, 'x');
  struct stat status = {};
  std::set<off_t> sizes;
  for (int written = 0; written < 130; ++written) {
    store.add(0, {}, record, {});
    io.finish();
    ASSERT_EQ(fstat(store.file().descriptor.number(), &status), 0);
    sizes.insert(status.st_size);
  }
  EXPECT_LE(sizes.size(), 3);
  EXPECT_LT(status.st_blocks * 512, static_cast<off_t>(140 * kMiB));  // what is not written takes no room
}

INSTANTIATE_TEST_SUITE_P(InMemoryAndSpilled, BucketStoreTest, testing::Bool());

}  // namespace
}  // namespace spillway::sort
