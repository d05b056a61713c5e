#include "sort/device_use.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/clock.h"

namespace spillway::sort {
namespace {

constexpr uint64_t kManyTicksNs =
    400'000'000;  // the kernel counts in ticks of up to 10 ms, and a fast disk none for a block

TEST(DeviceUseTest, memory_and_what_is_not_there_are_no_disks) {
  EXPECT_FALSE(DeviceUse({}).since_last());
  EXPECT_FALSE(DeviceUse({"/proc", "/not/there"}).since_last());
}

// A disk that is known is busy while it writes, and what it did before does not count.
TEST(DeviceUseTest, a_disk_that_writes_is_busy) {
  std::string name = "device-use-XXXXXX";
  const int file = mkstemp(name.data());
  ASSERT_GE(file, 0);
  unlink(name.c_str());
  DeviceUse use({".", ".", "/proc"});
  if (!use.since_last()) {
    close(file);
    GTEST_SKIP() << "NOT TESTED: the current directory is on no disk of this machine that says how busy it is";
  }
  const std::vector<char> block(1 << 20);
  const uint64_t begin = base::now_ns();
  while (base::now_ns() - begin < kManyTicksNs) {
    ASSERT_EQ(lseek(file, 0, SEEK_SET), 0);
    ASSERT_EQ(write(file, block.data(), block.size()), static_cast<ssize_t>(block.size()));
    ASSERT_EQ(fdatasync(file), 0);
  }
  const double busy = use.since_last().value();
  EXPECT_GT(busy, 0);
  EXPECT_LE(busy, 1);
  close(file);
}

}  // namespace
}  // namespace spillway::sort
