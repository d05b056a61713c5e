// Generated records in a file.
#pragma once

#include <cstdint>
#include <string>

#include "record_generator.h"

namespace apps::records {

// Writes the generator's next records, in blocks, to a file that appears when it is complete. Returns their checksum.
Number write_records(const std::string& path, RecordGenerator& generator, uint64_t count);

}  // namespace apps::records
