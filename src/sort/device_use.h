// How much of the time disks were busy, as the kernel counts it: what iostat calls the utilization of a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spillway::sort {

class DeviceUse {
 public:
  // Those under the file systems of `paths`, whole disks where these are on partitions. File systems that are on no
  // single block device are left out: a network's, memory, btrfs, a container's overlay.
  explicit DeviceUse(const std::vector<std::string>& paths);

  // Of the busiest one since the last call, or the first: from 0 to 1. Nothing where no disk is known.
  std::optional<double> since_last();

 private:
  struct Device {
    std::string statistics;  // a file
    uint32_t busy_ms;
  };

  std::vector<Device> devices_;
  uint64_t last_ns_;
};

}  // namespace spillway::sort
