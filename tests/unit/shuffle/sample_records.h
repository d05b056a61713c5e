// Records for tests: random keys and values, and what they are when they have been sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "seed.h"
#include "shuffle/record_format.h"
#include "shuffle/run.h"

namespace spillway::shuffle {

using TextRecord = std::pair<std::string, std::string>;

inline std::string random_text(Random& random, uint64_t most_bytes) {
  std::string text(random.below(most_bytes + 1), 'a');
  for (char& letter : text) letter = static_cast<char>('a' + random.below(3));
  return text;
}

inline std::vector<TextRecord> random_records(Random& random, size_t count, uint64_t most_key_bytes = 12) {
  std::vector<TextRecord> records;
  for (size_t i = 0; i < count; ++i) records.emplace_back(random_text(random, most_key_bytes), random_text(random, 20));
  return records;
}

inline Record view_of(const TextRecord& record) { return {record.first, record.second}; }

inline TextRecord copy_of(const Record& record) { return {std::string(record.key), std::string(record.value)}; }

inline std::vector<TextRecord> sorted(std::vector<TextRecord> records) {
  std::sort(records.begin(), records.end());
  return records;
}

// In memory, of records in the order that they have.
inline Run run_of(const std::vector<TextRecord>& records) {
  Run run;
  for (const TextRecord& record : records) run.bytes += record_bytes(view_of(record));
  run.memory.replace(run.bytes);
  char* to = run.memory.data();
  for (const TextRecord& record : records) to = write_record(to, view_of(record));
  run.records = records.size();
  return run;
}

}  // namespace spillway::shuffle
