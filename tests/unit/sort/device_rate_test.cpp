#include "sort/device_rate.h"

#include <gtest/gtest.h>

#include <optional>

#include "storage/scratch_directory.h"

namespace spillway::sort {
namespace {

TEST(DeviceRateTest, is_found_and_leaves_nothing) {
  const storage::ScratchDirectory directory(".");
  const std::optional<DeviceRate> rate = measure_device(directory.path(), (20 << 20) + 1);
  if (!rate) GTEST_SKIP() << "NOT TESTED: no direct I/O in the current directory";
  EXPECT_GT(rate->read, 1e6);
  EXPECT_GT(rate->written, 1e6);
}

}  // namespace
}  // namespace spillway::sort
