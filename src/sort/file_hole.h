// Files that are longer than what is written in them.
#pragma once

#include <cstdint>

namespace spillway::sort {

// Makes the file so long if that takes no room of its file system. Else it is as long as before.
bool make_longer_by_hole(int descriptor, uint64_t bytes);

}  // namespace spillway::sort
