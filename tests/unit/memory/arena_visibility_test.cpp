// Unloaded memory is memory for everybody who touches it: system calls, other threads, other processes, children.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "arena_fixture.h"

namespace spillway::memory {
namespace {

constexpr uint64_t kBytes = 4 * kMiB;

class VisibilityTest : public ArenaTest {
 protected:
  void SetUp() override {
    ArenaTest::SetUp();
    memory_ = allocate(kBytes);
    fill(memory_, kBytes, 1);
    unload_and_charge_again();
  }

  // After a change by whatever means: now, and after another unload.
  void expect_filled_for_good(uint64_t seed) {
    EXPECT_TRUE(is_filled(memory_, kBytes, seed));
    unload_and_charge_again();
    EXPECT_TRUE(is_filled(memory_, kBytes, seed));
  }

  // Runs body() in a child and returns its exit status.
  template <typename Body>
  int in_child(Body body) {
    arena_.lock_for_fork();
    const pid_t pid = fork();
    pid == 0 ? arena_.unlock_after_fork_in_child() : arena_.unlock_after_fork_in_parent();
    if (pid == 0) {
      arena_.detach();
      _exit(body());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
  }

  unsigned char* memory_ = nullptr;
};

TEST_F(VisibilityTest, write_sends_it) {
  const int file = memfd_create("target", MFD_CLOEXEC);
  ASSERT_EQ(write(file, memory_, kBytes), static_cast<ssize_t>(kBytes));
  std::vector<unsigned char> copy(kBytes);
  ASSERT_EQ(pread(file, copy.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  EXPECT_TRUE(is_filled(copy.data(), kBytes, 1));
  close(file);
}

TEST_F(VisibilityTest, read_fills_it) {
  const int file = memfd_create("source", MFD_CLOEXEC);
  std::vector<unsigned char> data(kBytes);
  fill(data.data(), kBytes, 2);
  ASSERT_EQ(pwrite(file, data.data(), kBytes, 0), static_cast<ssize_t>(kBytes));
  ASSERT_EQ(pread(file, memory_, kBytes, 0), static_cast<ssize_t>(kBytes));
  close(file);
  expect_filled_for_good(2);
}

TEST_F(VisibilityTest, direct_reads_and_writes_use_it) {
  const storage::ScratchDirectory build(std::filesystem::current_path());  // TMPDIR may be in memory
  const std::string path = std::string(build.path()) + "/direct";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600);
  unlink(path.c_str());
  ASSERT_GE(file, 0) << "run this test in a directory that takes O_DIRECT";
  ASSERT_EQ(pwrite(file, memory_, kBytes, 0), static_cast<ssize_t>(kBytes));
  fill(memory_, kBytes, 3);
  unload_and_charge_again();
  ASSERT_EQ(pread(file, memory_, kBytes, 0), static_cast<ssize_t>(kBytes));
  close(file);
  expect_filled_for_good(1);
}

TEST_F(VisibilityTest, process_vm_readv_and_writev_reach_it) {
  std::vector<unsigned char> copy(kBytes);
  const iovec here{copy.data(), kBytes};
  const iovec there{memory_, kBytes};
  ASSERT_EQ(process_vm_readv(getpid(), &here, 1, &there, 1, 0), static_cast<ssize_t>(kBytes));
  EXPECT_TRUE(is_filled(copy.data(), kBytes, 1));
  unload_and_charge_again();
  fill(copy.data(), kBytes, 4);
  ASSERT_EQ(process_vm_writev(getpid(), &here, 1, &there, 1, 0), static_cast<ssize_t>(kBytes));
  expect_filled_for_good(4);
}

TEST_F(VisibilityTest, a_parent_reads_it_in_its_child) {
  int ready[2], done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    Arena own(kAddressBytes);
    own.attach(MemoryAccount{}, base::SpillDirectories(directory_.path()));
    auto* memory = static_cast<unsigned char*>(own.allocate(kBytes, 1));
    fill(memory, kBytes, 6);
    own.unload(kEverything);
    if (write(ready[1], &memory, sizeof memory) != sizeof memory) _exit(1);
    char end = 0;
    _exit(read(done[0], &end, 1) == 1 ? 0 : 1);
  }
  unsigned char* there = nullptr;
  ASSERT_EQ(read(ready[0], &there, sizeof there), static_cast<ssize_t>(sizeof there));
  std::vector<unsigned char> copy(kBytes);
  const iovec local{copy.data(), kBytes};
  const iovec remote{there, kBytes};
  EXPECT_EQ(process_vm_readv(pid, &local, 1, &remote, 1, 0), static_cast<ssize_t>(kBytes));
  EXPECT_TRUE(is_filled(copy.data(), kBytes, 6));
  ASSERT_EQ(write(done[1], "", 1), 1);
  int status = 1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  for (int descriptor : {ready[0], ready[1], done[0], done[1]}) close(descriptor);
}

TEST_F(VisibilityTest, other_threads_use_it) {
  std::thread reader([&] { EXPECT_TRUE(is_filled(memory_, kBytes, 1)); });
  reader.join();
  unload_and_charge_again();
  std::thread writer([&] { fill(memory_, kBytes, 5); });
  writer.join();
  expect_filled_for_good(5);
}

TEST_F(VisibilityTest, a_thread_that_reads_meanwhile_never_sees_anything_else) {
  std::atomic<bool> done = false;
  std::thread reader([&] {
    uint64_t at = 0;
    while (!done) {
      at = (at + 4099) % kBytes;
      ASSERT_EQ(memory_[at], static_cast<unsigned char>(1 + (31 + at + at / 4096 * 17) % 255));
    }
  });
  for (int round = 0; round < 50; ++round) {
    memory_[round * kPageBytes] = memory_[round * kPageBytes];  // dirty, and unchanged
    unload_and_charge_again();
  }
  done = true;
  reader.join();
}

TEST_F(VisibilityTest, a_forked_child_has_its_own_copy) {
  const int status = in_child([&] {
    if (!is_filled(memory_, kBytes, 1)) return 1;
    fill(memory_, kBytes, 7);
    return is_filled(memory_, kBytes, 7) ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  expect_filled_for_good(1);
}

TEST_F(VisibilityTest, a_forked_child_allocates_and_frees_without_the_account) {
  const uint64_t resident = Account::resident;
  const int status = in_child([&] {
    arena_.free(memory_);
    unsigned char* own = allocate(kBytes);
    if (!is_zero(own, kBytes)) return 1;
    fill(own, kBytes, 8);
    return Account::resident == resident ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
  expect_filled_for_good(1);
}

TEST_F(VisibilityTest, handlers_of_fork_may_allocate_and_free) {
  arena_.lock_for_fork();
  unsigned char* own = allocate(kBytes);
  fill(own, kBytes, 3);
  EXPECT_TRUE(is_filled(own, kBytes, 3));
  arena_.free(own);
  arena_.unlock_after_fork_in_parent();
  expect_filled_for_good(1);
}

TEST_F(VisibilityTest, a_forked_child_of_a_resident_parent_keeps_what_it_had) {
  fill(memory_, kBytes, 9);
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char now = 0;
    if (read(go[0], &now, 1) != 1) _exit(1);
    _exit(is_filled(memory_, kBytes, 9) ? 0 : 2);
  }
  unload_and_charge_again();  // the child's pages were copies of the parent's when it was made: the file does not
                              // matter to them
  fill(memory_, kBytes, 10);
  unload_and_charge_again();
  ASSERT_EQ(write(go[1], "", 1), 1);
  int status = 1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  close(go[0]);
  close(go[1]);
}

}  // namespace
}  // namespace spillway::memory
