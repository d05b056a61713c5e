// A line that reaches beyond what was read of its file for other purposes.
#pragma once

#include <cstdint>
#include <string>

namespace spillway::sort {

// From `offset`, which is in the line, to its end or that of the file; one byte more than `most_bytes` of it where it
// is longer. Throws Failure where the file cannot be read.
std::string read_line(const std::string& path, uint64_t offset, uint64_t most_bytes);

}  // namespace spillway::sort
