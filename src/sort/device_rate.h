// How fast the device under a directory is by itself, as found by writing a little to it and reading that back: beside
// that a stage's rate says whether it waits for the device. What a device does while it is busy would not: it may be
// busy with one small request at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace spillway::sort {

struct DeviceRate {
  double read;  // bytes a second
  double written;
};

// Nothing where the file system has no direct I/O. A few MiB of memory and so many bytes of the directory are used
// meanwhile. Throws Failure.
std::optional<DeviceRate> measure_device(const std::string& directory, uint64_t bytes);

}  // namespace spillway::sort
