// The records of the sort benchmark (sortbenchmark.org), as its programs gensort and valsort have them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace apps::records {

inline constexpr size_t kRecordBytes = 100;
inline constexpr size_t kKeyBytes = 10;  // the first of a record's

// Records are numbered from 0. There are many more, but gensort skews the keys of later ones in another way.
inline constexpr uint64_t kMostRecords = uint64_t{1} << 60;

}  // namespace apps::records
