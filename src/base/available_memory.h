// What the machine could give to programs now without taking memory from others (MemAvailable), in bytes; 0 where the
// kernel does not say.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace spillway::base {

inline uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  for (uint64_t kibibytes = 0; file >> name >> kibibytes; file.ignore(64, '\n'))
    if (name == "MemAvailable:") return kibibytes << 10;
  return 0;
}

}  // namespace spillway::base
