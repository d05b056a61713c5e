// What comes back from storage is what was written, or the process ends.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <string>

#include "memory/arena.h"
#include "memory/arena_fixture.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kBytes = 4 * kMiB;
constexpr uint64_t kDamageDistance = 64 * kKiB;
constexpr const char* kMessage = "read something else from the spill directory";

class ArenaChecksumsTest : public ArenaTest {
 protected:
  void SetUp() override {
    ArenaTest::SetUp();
    memory_ = allocate(kBytes);
    write(1);
  }

  void write(uint64_t seed) {
    fill(memory_, kBytes, seed);
    last_written_ = unload_and_charge_again().written_bytes;
  }

  // The arena's spill file, which has no name any more.
  int spill_descriptor() const {
    int found = -1;
    DIR* descriptors = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(descriptors)) {
      const std::string link = std::string("/proc/self/fd/") + entry->d_name;
      char target[PATH_MAX] = {};
      if (readlink(link.c_str(), target, sizeof target - 1) > 0 && std::string(target).starts_with(directory_.path()))
        found = atoi(entry->d_name);
    }
    closedir(descriptors);
    return found;
  }

  // As a bad device would: a bit of some pages that hold something.
  void damage() {
    const int descriptor = open(("/proc/self/fd/" + std::to_string(spill_descriptor())).c_str(), O_RDWR);
    ASSERT_GE(descriptor, 0);
    struct stat status {};
    fstat(descriptor, &status);
    int damaged = 0;
    for (off_t at = 0; at < status.st_size; at += kDamageDistance) {
      unsigned char byte = 0;
      ASSERT_EQ(pread(descriptor, &byte, 1, at), 1);
      if (byte == 0) continue;
      byte ^= 1;
      ASSERT_EQ(pwrite(descriptor, &byte, 1, at), 1);
      ++damaged;
    }
    EXPECT_EQ(damaged, kBytes / kDamageDistance);
    fdatasync(descriptor);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    close(descriptor);
  }

  uint64_t sum_of_second_bytes() const {
    uint64_t sum = 0;
    for (uint64_t page = 0; page < kBytes; page += kPageBytes) sum += memory_[page + 1];
    return sum;
  }

  unsigned char* memory_ = nullptr;
  uint64_t last_written_ = 0;
};

TEST_F(ArenaChecksumsTest, what_is_loaded_at_once_is_compared_before_anybody_sees_it) {
  fill(memory_, kBytes, 2);
  unload();
  ASSERT_EQ(arena_.expected_bytes(), kBytes);
  charge_all();
  damage();
  EXPECT_DEATH(arena_.load_expected(Expected::rewritten), kMessage);
}

TEST_F(ArenaChecksumsTest, what_the_kernel_brings_in_is_compared_at_the_next_unload) {
  damage();
  EXPECT_NE(sum_of_second_bytes(), 0);
  EXPECT_DEATH(unload(), kMessage);
}

TEST_F(ArenaChecksumsTest, so_is_what_the_rank_has_changed_since) {
  damage();
  for (uint64_t page = 0; page < kBytes; page += kPageBytes) memory_[page + 1] = 0;
  ASSERT_EQ(bytes_in_state(memory_, kBytes, PageState::dirty), kBytes);
  EXPECT_DEATH(unload(), kMessage);
}

TEST_F(ArenaChecksumsTest, so_is_what_the_program_unloads_itself) {
  damage();
  EXPECT_NE(sum_of_second_bytes(), 0);
  UnloadResult result;
  EXPECT_DEATH((void)arena_.unload_range(memory_, kBytes, result), kMessage);
}

TEST_F(ArenaChecksumsTest, at_the_end_the_rest_is_compared) {
  arena_.check_what_was_loaded();
  damage();
  EXPECT_NE(sum_of_second_bytes(), 0);
  EXPECT_DEATH(arena_.check_what_was_loaded(), kMessage);
}

TEST_F(ArenaChecksumsTest, so_is_what_the_rank_frees_or_discards) {
  damage();
  EXPECT_NE(sum_of_second_bytes(), 0);
  EXPECT_DEATH(arena_.free(memory_), kMessage);
  EXPECT_DEATH((void)arena_.discard_range(memory_, kBytes), kMessage);
}

TEST_F(ArenaChecksumsTest, what_the_parent_writes_is_no_damage_to_a_forked_child) {
  damage();
  EXPECT_NE(sum_of_second_bytes(), 0);
  arena_.detach();
  arena_.free(memory_);
  arena_.check_what_was_loaded();
}

TEST_F(ArenaChecksumsTest, what_the_program_has_dropped_by_itself_of_what_was_loaded_at_once_stays_in_the_file) {
  fill(memory_, kBytes, 2);
  unload_and_charge_again();
  arena_.load_expected(Expected::rewritten);
  ASSERT_EQ(bytes_in_state(memory_, kBytes, PageState::dirty), kBytes);
  fill(memory_, kBytes, 3);
  madvise(memory_ + 8 * kPageBytes, kPageBytes, MADV_DONTNEED);
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(memory_, 8 * kPageBytes, 3));
  EXPECT_FALSE(is_zero(memory_ + 8 * kPageBytes, kPageBytes)) << "as it was in the file";
  unload_and_charge_again();
}

TEST_F(ArenaChecksumsTest, what_is_overwritten_without_being_read_may_be_damaged) {
  damage();
  arena_.renew(memory_, kBytes);
  write(3);
  EXPECT_TRUE(is_filled(memory_, kBytes, 3));
  arena_.check_what_was_loaded();
}

TEST_F(ArenaChecksumsTest, what_is_written_again_as_it_was_is_not_written_out) {
  EXPECT_EQ(last_written_, kBytes);
  write(1);
  EXPECT_EQ(last_written_, 0);
  fill(memory_, kBytes, 1);
  memory_[kBytes / 2] ^= 1;
  EXPECT_EQ(unload_and_charge_again().written_bytes, kPageBytes);
  memory_[kBytes / 2] ^= 1;
  EXPECT_EQ(unload_and_charge_again().written_bytes, kPageBytes);
  EXPECT_TRUE(is_filled(memory_, kBytes, 1));
}

TEST_F(ArenaChecksumsTest, a_new_user_of_a_place_is_not_measured_by_the_old_one) {
  arena_.free(memory_);
  unsigned char* next = allocate(kBytes);
  ASSERT_EQ(next, memory_);
  fill(next, kBytes / 2, 4);
  unload_and_charge_again();
  EXPECT_TRUE(is_filled(next, kBytes / 2, 4));
  EXPECT_TRUE(is_zero(next + kBytes / 2, kBytes / 2));
  unload_and_charge_again();
  EXPECT_EQ(arena_.discard_range(next, kMiB), RangeResult::done);
  EXPECT_TRUE(is_zero(next, kMiB));
  EXPECT_FALSE(is_zero(next + kMiB, 1));
  unload_and_charge_again();
}

class ArenaWithoutChecksumsTest : public ArenaChecksumsTest {
 protected:
  void SetUp() override {
    arena_.attach(Account::hooks(), base::SpillDirectories(directory_.path()));
    memory_ = allocate(kBytes);
    write(1);
  }
};

TEST_F(ArenaWithoutChecksumsTest, nothing_is_compared_and_all_that_was_written_is_written_out) {
  write(1);
  EXPECT_EQ(last_written_, kBytes);
  damage();
  EXPECT_NE(sum_of_second_bytes(), 0);
  unload_and_charge_again();
  EXPECT_FALSE(is_filled(memory_, kBytes, 1));
}

}  // namespace
}  // namespace spillway::memory
