// The sort benchmark's checksum, which does not depend on the order of records: the sum of their CRC-32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "random_sequence.h"

namespace apps::records {

// Of one record, as zlib's crc32(): some 2.5 GB/s.
uint32_t record_crc32(const char* record);

// The sum of records that follow each other.
Number record_checksum(const char* records, uint64_t count);

// Without leading zeros, as the benchmark's programs print it.
std::string hexadecimal(Number number);

}  // namespace apps::records
