#include "storage/striped_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "file_contents.h"
#include "refusing_kernel.h"
#include "scratch_directory.h"
#include "seed.h"

namespace spillway::storage {
namespace {

constexpr uint64_t kStripe = StripedFile::kStripeBytes;

class StripedFileTest : public testing::Test {
 protected:
  StripedFileTest() {
    for (const ScratchDirectory& directory : directories_) all_.paths[all_.count++] = directory.path();
  }

  base::SpillDirectories first(size_t count) const {
    base::SpillDirectories some = all_;
    some.count = count;
    return some;
  }

  // For EXPECT_EXIT too, which runs its statement in a child.
  void check_against_memory(size_t count) {
    StripedFile file;
    file.create(first(count));
    constexpr uint64_t kBytes = 24 * kMiB;
    file.reserve(0, kBytes);
    Buffer expected(kBytes), part(kBytes);
    file.write(expected.data(), kBytes, 0);
    Random random(test_seed());
    for (unsigned round = 0; round < 12; ++round) {
      const uint64_t begin = random.below(kBytes / kBlockBytes) * kBlockBytes;
      const uint64_t bytes = (1 + random.below((kBytes - begin) / kBlockBytes)) * kBlockBytes;
      if (random.one_in(3)) {
        memset(expected.data() + begin, 0, bytes);
        file.write_zeros(begin, bytes);
      } else {
        part.fill(round);
        memcpy(expected.data() + begin, part.data(), bytes);
        // In two parts, of which one is on its way when the other one comes.
        const uint64_t half = bytes / kBlockBytes / 2 * kBlockBytes;
        file.start_write(part.data(), half, begin);
        file.start_write(part.data() + half, bytes - half, begin + half);
        if (random.one_in(2)) file.finish_writes();  // else whoever reads waits for it
      }
      file.drop_cache(begin, bytes);
      file.read(part.data(), bytes, begin);
      SPILLWAY_CHECK(memcmp(part.data(), expected.data() + begin, bytes) == 0);
    }
    file.read(part.data(), kBytes, 0);
    SPILLWAY_CHECK(part == expected);
  }

  ScratchDirectory directories_[3];
  base::SpillDirectories all_;
};

TEST_F(StripedFileTest, keeps_what_is_written) {
  StripedFile file;
  file.create(all_);
  check_keeps_what_is_written(file);
}

TEST_F(StripedFileTest, ranges_of_any_place_and_size_are_where_they_belong) {
  for (size_t count : {1, 2, 3}) check_against_memory(count);
}

TEST_F(StripedFileTest, with_one_directory_every_range_is_one_part_with_its_own_offset) {
  StripedFile file;
  file.create(first(1));
  const StripedFile::Part part = file.first_part(3 * kMiB, 100 * kMiB);
  EXPECT_EQ(part.offset, 3 * kMiB);
  EXPECT_EQ(part.bytes, 100 * kMiB);
}

TEST_F(StripedFileTest, stripes_take_turns_and_fill_their_files_without_gaps) {
  StripedFile file;
  file.create(all_);
  const StripedFile::Part second = file.first_part(kStripe + kMiB, 100 * kMiB);
  EXPECT_EQ(second.offset, kMiB);
  EXPECT_EQ(second.bytes, kStripe - kMiB);
  const StripedFile::Part fourth = file.first_part(3 * kStripe, kMiB);
  EXPECT_EQ(fourth.offset, kStripe);
  EXPECT_EQ(fourth.bytes, kMiB);
  EXPECT_EQ(fourth.descriptor, file.first_part(0, kMiB).descriptor);
  EXPECT_NE(fourth.descriptor, second.descriptor);
}

TEST_F(StripedFileTest, each_file_takes_its_share_of_the_space) {
  StripedFile file;
  file.create(all_);
  file.reserve(0, 9 * kStripe);
  for (uint64_t stripe = 0; stripe < 3; ++stripe) {
    struct stat status {};
    ASSERT_EQ(fstat(file.first_part(stripe * kStripe, 1).descriptor, &status), 0);
    EXPECT_EQ(static_cast<uint64_t>(status.st_size), 3 * kStripe);
    EXPECT_GE(static_cast<uint64_t>(status.st_blocks) * 512, 3 * kStripe);
  }
}

TEST_F(StripedFileTest, uses_files_that_somebody_else_has_opened) {
  StripedFile maker, file;
  maker.create(all_);
  maker.reserve(0, 6 * kStripe);
  Buffer data(5 * kStripe), back(5 * kStripe);
  data.fill(3);
  maker.write(data.data(), data.bytes(), kMiB);
  std::vector<int> descriptors;
  for (uint64_t stripe = 0; stripe < 3; ++stripe)
    descriptors.push_back(dup(maker.first_part(stripe * kStripe, 1).descriptor));
  file.adopt(descriptors.data(), all_);
  file.read(back.data(), back.bytes(), kMiB);
  EXPECT_TRUE(back == data);
}

using StripedFileDeathTest = StripedFileTest;

TEST_F(StripedFileDeathTest, works_where_several_requests_at_a_time_are_refused) {
  EXPECT_EXIT(
      {
        refuse(Refusal::request_queues);
        for (size_t count : {1, 3}) check_against_memory(count);
        _exit(10);
      },
      testing::ExitedWithCode(10), "");
}

TEST_F(StripedFileDeathTest, a_write_that_was_started_fails_when_it_is_finished) {
  StripedFile other;
  other.create(first(1));
  const bool is_direct = other.is_direct();
  EXPECT_EXIT(
      {
        StripedFile file;
        file.create(first(1));
        file.reserve(0, kMiB);
        Buffer data(kMiB);
        signal(SIGXFSZ, SIG_IGN);
        rlimit limit{};
        limit.rlim_cur = limit.rlim_max = kMiB / 2;
        SPILLWAY_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        file.start_write(data.fill(1).data(), kMiB, 0);
        if (file.is_direct()) fputs("started\n", stderr);
        file.finish_writes();
      },
      testing::ExitedWithCode(1), std::string(is_direct ? "started\n" : "") + ".*cannot put 1 MiB more .*");
}

TEST_F(StripedFileDeathTest, names_the_directory_whose_device_fails) {
  StripedFile file;
  file.create(all_);
  file.reserve(0, 4 * kStripe);
  EXPECT_EXIT(file.fail_for_damage(4 * kStripe), testing::ExitedWithCode(1), all_.paths[1]);
  // Shorter than it should be, as if it could not be read.
  ASSERT_EQ(ftruncate(file.first_part(2 * kStripe, 1).descriptor, 0), 0);
  Buffer back(4 * kStripe);
  EXPECT_EXIT(file.read(back.data(), back.bytes(), 0), testing::ExitedWithCode(1),
              std::string("cannot read back 4 MiB .*") + all_.paths[2]);
}

TEST(SpillDirectoriesTest, are_listed_with_colons_between) {
  char one[] = "/a b", several[] = "/a:/b/c:d";
  EXPECT_EQ(base::SpillDirectories::listed_in(one).count, 1u);
  EXPECT_STREQ(base::SpillDirectories::listed_in(one).paths[0], "/a b");
  const auto listed = base::SpillDirectories::listed_in(several);
  ASSERT_EQ(listed.count, 3u);
  EXPECT_STREQ(listed.paths[0], "/a");
  EXPECT_STREQ(listed.paths[1], "/b/c");
  EXPECT_STREQ(listed.paths[2], "d");
}

}  // namespace
}  // namespace spillway::storage
