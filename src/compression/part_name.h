// The names of part files: part-00017.csv.gz and so on.
#pragma once

#include <optional>
#include <string_view>

namespace spillway::compression {

struct PartName {
  int number;
  std::string_view format;  // ".csv", ".parquet", or nothing of text
  std::string_view codec;   // ".gz", ".zst" or nothing
};

// Nothing of another name, as that of a part that is not whole. It refers to the name.
std::optional<PartName> part_name(std::string_view name);

}  // namespace spillway::compression
