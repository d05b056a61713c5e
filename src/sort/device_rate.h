// How fast the device under a directory is by itself, as found by writing a little to it and reading that back: beside
// that a stage's rate says whether it waits for the device. What a device does while it is busy would not: it may be
// busy with one small request at a time.
#pragma once

#include <cstdint>
#include <string>

#include "sort/aligned_memory.h"
#include "sort/async_io.h"
#include "sort/direct_file.h"

namespace spillway::sort {

struct DeviceRate {
  double read;  // bytes a second
  double written;
};

// Uses a few MiB of memory and so many bytes of the directory. All throw Failure, also where the file system has no
// direct I/O.
class DeviceProbe {
 public:
  DeviceProbe(const std::string& directory, uint64_t bytes);

  // Seconds.
  double write();
  // What has been written.
  double read();
  uint64_t bytes() const { return bytes_; }

 private:
  template <typename Start>
  double take(Start start);

  const uint64_t bytes_;
  DirectFile file_;
  AlignedMemory memory_;
  AsyncIo io_;  // destroyed first, as it waits
};

}  // namespace spillway::sort
