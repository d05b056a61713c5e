#include "sort/device_rate.h"

#include <gtest/gtest.h>

#include <string>

#include "sort/failure.h"
#include "storage/scratch_directory.h"

namespace spillway::sort {
namespace {

TEST(DeviceProbeTest, is_found_and_leaves_nothing) {
  const storage::ScratchDirectory directory(".");
  try {
    DeviceProbe probe(directory.path(), (20 << 20) + 1);
    const auto bytes = static_cast<double>(probe.bytes());
    EXPECT_EQ(bytes, 21 << 20);
    EXPECT_GT(bytes / probe.write(), 1e6);
    EXPECT_GT(bytes / probe.read(), 1e6);
  } catch (const Failure& failure) {
    if (std::string(failure.what()).find("has no direct I/O") == std::string::npos) throw;
    GTEST_SKIP() << "NOT TESTED: " << failure.what();
  }
}

}  // namespace
}  // namespace spillway::sort
