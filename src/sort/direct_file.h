// A file that is read or written with O_DIRECT, where its file system allows that.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"

namespace spillway::sort {

struct DirectFile {
  std::string name;  // for messages
  base::Descriptor descriptor;
  bool is_direct = false;
};

// Both throw Failure.
DirectFile open_to_read(const std::string& path);
// One that exists.
DirectFile open_to_write(const std::string& path);

}  // namespace spillway::sort
