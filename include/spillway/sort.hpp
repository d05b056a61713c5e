// Sorting of files that may be larger than memory, in C++: spillway/sort.h says what it does, and its rules.
#pragma once

#include <spillway/sort.h>

#include <cstdint>
#include <string>
#include <vector>

namespace spillway {

enum class EqualKeys {
  kUnordered = SPILLWAY_SORT_UNORDERED,
  kStable = SPILLWAY_SORT_STABLE,
  kUnique = SPILLWAY_SORT_UNIQUE,
  kCounted = SPILLWAY_SORT_COUNTED,
};

struct SortOptions {
  std::vector<std::string> inputs;
  std::string output;
  uint64_t memory_bytes = 0;  // of each process
  std::string spill_directory = "/tmp";
  uint64_t record_bytes = 100;
  bool is_lines = false;
  std::string separator;
  std::string key;  // empty: as of spillway_sort_options
  EqualKeys equal_keys = EqualKeys::kUnordered;
  bool has_parts = false;
  int reader_count = 0;
};

using SortResult = spillway_sort_result;

// Collective.
inline SortResult sort_files(const SortOptions& options) {
  std::vector<const char*> inputs;
  for (const std::string& input : options.inputs) inputs.push_back(input.c_str());
  spillway_sort_options plain = {};
  plain.inputs = inputs.data();
  plain.input_count = inputs.size();
  plain.output = options.output.c_str();
  plain.memory_bytes = options.memory_bytes;
  plain.spill_directory = options.spill_directory.c_str();
  plain.record_bytes = options.record_bytes;
  plain.is_lines = options.is_lines ? 1 : 0;
  plain.separator = options.separator.empty() ? nullptr : options.separator.c_str();
  plain.key = options.key.empty() ? nullptr : options.key.c_str();
  plain.equal_keys = static_cast<int>(options.equal_keys);
  plain.has_parts = options.has_parts ? 1 : 0;
  plain.reader_count = options.reader_count;
  SortResult result = {};
  spillway_sort_files(&plain, &result);
  return result;
}

}  // namespace spillway
