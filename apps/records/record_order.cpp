#include "record_order.h"

#include <cstring>

#include "record_checksum.h"

namespace apps::records {

void RecordOrder::add(const char* record) {
  const int order = records_ == 0 ? 1 : std::memcmp(record, last_key_.data(), kKeyBytes);
  if (order == 0) ++duplicate_keys_;
  if (order < 0 && unordered_++ == 0) first_unordered_ = records_;
  checksum_ += record_crc32(record);
  ++records_;
  std::memcpy(last_key_.data(), record, kKeyBytes);
}

}  // namespace apps::records
