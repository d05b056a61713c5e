// What the sort benchmark asks of sorted records: that no key is smaller than the one before it.
#pragma once

#include <array>
#include <cstdint>

#include "random_sequence.h"
#include "sort_record.h"

namespace apps::records {

class RecordOrder {
 public:
  // The next record.
  void add(const char* record);

  uint64_t records() const { return records_; }
  Number checksum() const { return checksum_; }
  // Records with the key of the one before them.
  uint64_t duplicate_keys() const { return duplicate_keys_; }
  // Records with a smaller key than the one before them, and the number of the first one, from 0.
  uint64_t unordered() const { return unordered_; }
  uint64_t first_unordered() const { return first_unordered_; }

 private:
  uint64_t records_ = 0;
  Number checksum_ = 0;
  uint64_t duplicate_keys_ = 0;
  uint64_t unordered_ = 0;
  uint64_t first_unordered_ = 0;
  std::array<char, kKeyBytes> last_key_{};
};

}  // namespace apps::records
