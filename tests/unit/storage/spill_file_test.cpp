#include "storage/spill_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "file_contents.h"
#include "refusing_kernel.h"
#include "scratch_directory.h"

namespace spillway::storage {
namespace {

void allow_files_of(rlim_t bytes) {
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

class SpillFileTest : public testing::Test {
 protected:
  ScratchDirectory directory_;
  SpillFile file_;
};

TEST_F(SpillFileTest, keeps_what_is_written) {
  file_.create(directory_.path());
  check_keeps_what_is_written(file_);
}

TEST_F(SpillFileTest, has_no_name_and_is_readable_by_its_owner_alone) {
  file_.create(directory_.path());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  struct stat status {};
  ASSERT_EQ(fstat(file_.descriptor(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(fcntl(file_.descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST_F(SpillFileTest, takes_space_when_it_is_reserved_and_not_before) {
  file_.create(directory_.path());
  struct stat status {};
  fstat(file_.descriptor(), &status);
  EXPECT_EQ(status.st_blocks, 0);
  file_.reserve(64 * kMiB, kMiB);
  fstat(file_.descriptor(), &status);
  EXPECT_GE(status.st_blocks * 512, static_cast<blkcnt_t>(kMiB));
  EXPECT_LT(status.st_blocks * 512, static_cast<blkcnt_t>(4 * kMiB));
}

TEST_F(SpillFileTest, works_on_a_file_system_in_memory) {
  const ScratchDirectory in_memory("/dev/shm");
  file_.create(in_memory.path());
  check_keeps_what_is_written(file_);
}

TEST_F(SpillFileTest, uses_a_file_that_somebody_else_has_opened) {
  const int descriptor = memfd_create("adopted", MFD_CLOEXEC);
  file_.adopt(descriptor, directory_.path());
  check_keeps_what_is_written(file_);
}

TEST_F(SpillFileTest, gives_up_direct_writes_where_they_are_refused_only_when_made) {
  file_.create(directory_.path());
  Buffer data(2 * kMiB);
  data.fill(5);
  file_.write(data.data() + 512 + 1, kMiB, 0);  // so misaligned that direct writing is refused
  EXPECT_FALSE(file_.is_direct());
  Buffer back(kMiB);
  file_.read(back.data(), kMiB, 0);
  EXPECT_EQ(memcmp(back.data(), data.data() + 513, kMiB), 0);
}

TEST_F(SpillFileTest, others_write_directly_into_a_file_where_one_has_given_it_up) {
  SpillFile maker;
  maker.create(directory_.path());
  SpillFile other;
  other.adopt(dup(maker.descriptor()), directory_.path());
  file_.adopt(dup(maker.descriptor()), directory_.path());
  Buffer data(2 * kMiB);
  data.fill(5);
  file_.write(data.data() + 512 + 1, kMiB, 0);  // refused
  EXPECT_FALSE(file_.is_direct());
  other.write(data.data(), kMiB, kMiB);
  EXPECT_EQ(other.is_direct(), maker.is_direct());  // false only where the file system takes no direct writing at all
  EXPECT_EQ((fcntl(other.descriptor(), F_GETFL) & O_DIRECT) != 0, other.is_direct());
  check_keeps_what_is_written(other);
}

class SpillFileDeathTest : public SpillFileTest {
 protected:
  // For EXPECT_EXIT, which runs its statement in a child: there the filter may stay.
  void work_without(Refusal refusal) {
    refuse(refusal);
    file_.create(directory_.path());
    check_keeps_what_is_written(file_);
    _exit(file_.is_direct() ? 10 : 11);
  }
};

TEST_F(SpillFileDeathTest, works_without_nameless_files) {
  file_.create(directory_.path());
  EXPECT_EXIT(work_without(Refusal::nameless_files), testing::ExitedWithCode(file_.is_direct() ? 10 : 11), "");
}

TEST_F(SpillFileDeathTest, works_without_preallocation) {
  file_.create(directory_.path());
  EXPECT_EXIT(work_without(Refusal::preallocation), testing::ExitedWithCode(file_.is_direct() ? 10 : 11), "");
}

TEST_F(SpillFileDeathTest, works_without_direct_writing) {
  EXPECT_EXIT(work_without(Refusal::direct_flag), testing::ExitedWithCode(11), "");
}

TEST_F(SpillFileDeathTest, says_that_the_device_is_full) {
  EXPECT_EXIT(
      {
        file_.create(directory_.path());
        refuse(Refusal::space);
        check_keeps_what_is_written(file_);
      },
      testing::ExitedWithCode(1),
      "cannot put 3 MiB more into the spill directory .*No space left on device.*--spill-dir");
}

TEST_F(SpillFileDeathTest, says_that_the_device_fails) {
  EXPECT_EXIT(
      {
        file_.create(directory_.path());
        refuse(Refusal::device);
        check_keeps_what_is_written(file_);
      },
      testing::ExitedWithCode(1), "cannot read back 3 MiB in the spill directory .*Input/output error");
}

TEST_F(SpillFileDeathTest, says_that_files_may_not_grow_so_large_instead_of_dying_of_a_signal) {
  EXPECT_EXIT(
      {
        allow_files_of(9 * kMiB);
        file_.create(directory_.path());
        check_keeps_what_is_written(file_);
      },
      testing::ExitedWithCode(1), "may not grow that large.*ulimit -f");
}

TEST_F(SpillFileDeathTest, says_which_directory_it_cannot_use) {
  EXPECT_EXIT(file_.create("/proc/self"), testing::ExitedWithCode(1), "cannot create .*/proc/self");
  EXPECT_EXIT(file_.create("/nowhere/at/all"), testing::ExitedWithCode(1),
              "/nowhere/at/all.*No such file or directory");
}

// A device of 4 MiB for this process alone: needs root, or user namespaces that may mount.
bool mount_small_device(const char* directory) {
  if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) return false;
  if (unshare(CLONE_NEWNS) != 0) return false;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return mount("tmpfs", directory, "tmpfs", 0, "size=4m") == 0;
}

TEST_F(SpillFileDeathTest, finds_a_full_device_when_it_reserves) {
  EXPECT_EXIT(
      {
        if (!mount_small_device(directory_.path())) refuse(Refusal::space);  // not allowed here: the next best thing
        file_.create(directory_.path());
        Buffer data(kMiB);
        for (uint64_t offset = 0;; offset += kMiB) {
          file_.reserve(offset, kMiB);
          file_.write(data.data(), kMiB, offset);
          SPILLWAY_CHECK(offset < 8 * kMiB);
        }
      },
      testing::ExitedWithCode(1), "cannot put 1 MiB more into the spill directory .*No space left on device");
}

}  // namespace
}  // namespace spillway::storage
