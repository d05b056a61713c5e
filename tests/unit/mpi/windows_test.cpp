// Which memory windows keep, also when several threads of a rank work on windows at a time.
#include "mpi/windows.h"

#include <gtest/gtest.h>

namespace spillway::mpi {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kWindow = 7;
constexpr uint64_t kMemory = 1ull << 40;           // of the window
constexpr uint64_t kBuffer = kMemory + 16 * kMiB;  // of operations
constexpr uint64_t kOther = kMemory + 32 * kMiB;

const void* at(uint64_t address) { return reinterpret_cast<const void*>(address); }

class WindowsTest : public testing::Test {
 protected:
  WindowsTest() { windows_.made(kWindow, at(kMemory), kMiB); }

  bool is_kept(uint64_t address) const { return windows_.is_in_use(address, address + 1); }

  Windows windows_;
};

TEST_F(WindowsTest, keep_their_memory_and_no_more) {
  EXPECT_TRUE(is_kept(kMemory));
  EXPECT_TRUE(is_kept(kMemory + kMiB - 1));
  EXPECT_FALSE(is_kept(kMemory + kMiB));
  EXPECT_FALSE(is_kept(kMemory - 1));
  windows_.attached(kWindow, at(kOther), kMiB);
  EXPECT_TRUE(is_kept(kOther));
  windows_.detached(kWindow, at(kOther));
  EXPECT_FALSE(is_kept(kOther));
  EXPECT_TRUE(is_kept(kMemory));
}

TEST_F(WindowsTest, keep_buffers_until_the_operations_of_all_targets_are_complete) {
  windows_.begun(kWindow, 1, at(kBuffer), 8);
  windows_.begun(kWindow, 2, at(kOther), 8);
  windows_.have_completed(kWindow, 1, windows_.completes());
  EXPECT_TRUE(is_kept(kBuffer));
  EXPECT_TRUE(is_kept(kOther));
  windows_.have_completed(kWindow, 2, windows_.completes());
  EXPECT_FALSE(is_kept(kBuffer));
  EXPECT_FALSE(is_kept(kOther));
}

TEST_F(WindowsTest, keep_what_is_begun_while_others_are_completed) {
  windows_.begun(kWindow, 1, at(kBuffer), 8);
  const uint64_t number = windows_.completes();
  windows_.begun(kWindow, 1, at(kOther), 8);
  windows_.have_completed(kWindow, {}, number);
  EXPECT_TRUE(is_kept(kOther));
  windows_.have_completed(kWindow, 1, windows_.completes());
  EXPECT_FALSE(is_kept(kOther));
  EXPECT_FALSE(is_kept(kBuffer));
}

TEST_F(WindowsTest, lose_what_one_thread_begins_and_completes_while_another_completes) {
  const uint64_t number = windows_.completes();
  windows_.begun(kWindow, 2, at(kBuffer), 8);
  windows_.have_completed(kWindow, 2, windows_.completes());
  windows_.have_completed(kWindow, 1, number);
  EXPECT_FALSE(is_kept(kBuffer));
}

TEST_F(WindowsTest, are_another_one_that_has_the_same_handle_before_the_first_is_told_freed) {
  const uint64_t number = windows_.leaves(kWindow);
  windows_.made(kWindow, at(kOther), kMiB);
  EXPECT_TRUE(is_kept(kMemory)) << "the library may still use it";
  windows_.has_left(number, true);
  EXPECT_FALSE(is_kept(kMemory));
  EXPECT_TRUE(is_kept(kOther));
  windows_.has_left(windows_.leaves(kWindow), true);
  EXPECT_FALSE(windows_.has_any());
}

TEST_F(WindowsTest, stay_when_they_could_not_be_freed) {
  windows_.has_left(windows_.leaves(kWindow), false);
  EXPECT_TRUE(is_kept(kMemory));
  windows_.detached(kWindow, at(kMemory));
  EXPECT_FALSE(is_kept(kMemory));
}

TEST_F(WindowsTest, know_no_window_that_they_have_not_been_told_of) {
  windows_.has_left(windows_.leaves(99), true);
  windows_.have_completed(99, {}, windows_.completes());
  EXPECT_TRUE(is_kept(kMemory));
}

TEST_F(WindowsTest, say_when_they_have_changed) {
  uint64_t changes = windows_.changes();
  const auto has_changed = [&] { return std::exchange(changes, windows_.changes()) != windows_.changes(); };
  windows_.begun(kWindow, 1, at(kBuffer), 8);
  EXPECT_TRUE(has_changed());
  windows_.begun(kWindow, 1, at(kBuffer + 8), 8);
  EXPECT_FALSE(has_changed()) << "the block is kept already";
  windows_.have_completed(kWindow, {}, windows_.completes());
  EXPECT_TRUE(has_changed());
  windows_.have_completed(kWindow, {}, windows_.completes());
  EXPECT_FALSE(has_changed());
  windows_.has_left(windows_.leaves(kWindow), true);
  EXPECT_TRUE(has_changed());
}

TEST_F(WindowsTest, keep_what_is_lent_for_a_call) {
  const uint64_t first = windows_.lent(at(kBuffer), 8), second = windows_.lent(at(kBuffer), 16);
  const uint64_t changes = windows_.changes();
  windows_.taken_back(second);
  EXPECT_GT(windows_.changes(), changes);
  EXPECT_TRUE(is_kept(kBuffer + 7));
  EXPECT_FALSE(is_kept(kBuffer + 8));
  EXPECT_FALSE(is_kept(kBuffer - 1));
  windows_.taken_back(first);
  EXPECT_FALSE(is_kept(kBuffer));
  EXPECT_TRUE(is_kept(kMemory));
}

}  // namespace
}  // namespace spillway::mpi
