// Where a job's spill files are: one directory, or several on different devices.
#pragma once

#include <cstddef>

namespace spillway::base {

// The paths are not copied: they must stay valid for as long as there are files.
struct SpillDirectories {
  static constexpr size_t kMost = 16;

  constexpr SpillDirectories() = default;
  constexpr explicit SpillDirectories(const char* path) : paths{path}, count(1) {}

  // Of a text with `:` between them, which is changed. What is beyond the most is left out.
  static SpillDirectories listed_in(char* text) {
    SpillDirectories directories;
    for (char* end = text; directories.count < kMost; text = end) {
      directories.paths[directories.count++] = text;
      while (*end != '\0' && *end != ':') ++end;
      if (*end == '\0') break;
      *end++ = '\0';
    }
    return directories;
  }

  // The same, from another one on.
  SpillDirectories beginning_with(size_t first) const {
    SpillDirectories rotated;
    for (; rotated.count < count; ++rotated.count)
      rotated.paths[rotated.count] = paths[(first + rotated.count) % count];
    return rotated;
  }

  const char* paths[kMost] = {};
  size_t count = 0;
};

}  // namespace spillway::base
