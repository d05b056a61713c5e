#include "storage/page_checksums.h"

#include <algorithm>

#include "storage/page_hash.h"

namespace spillway::storage {
namespace {

alignas(64) constexpr char kZeros[PageChecksums::kPageBytes] = {};

const PageHash kHash = fastest_page_hash();

uint64_t checksum_of(const void* page) {
  return std::max<uint64_t>(kHash(page), 1);  // 0 has another meaning
}

}  // namespace

bool PageChecksums::replace(uint64_t offset, const void* page) {
  if (table_ == nullptr) return true;
  uint64_t& known = table_[offset / kPageBytes];
  const uint64_t now = checksum_of(page), before = known;
  known = now;
  return now != before;
}

void PageChecksums::replace_by_zeros(uint64_t offset, uint64_t bytes) {
  if (table_ == nullptr) return;
  std::fill_n(table_ + offset / kPageBytes, bytes / kPageBytes, checksum_of(kZeros));
}

void PageChecksums::forget(uint64_t offset, uint64_t bytes) {
  if (table_ != nullptr) std::fill_n(table_ + offset / kPageBytes, bytes / kPageBytes, 0);
}

uint64_t PageChecksums::damaged_page(uint64_t offset, const void* contents, uint64_t bytes) const {
  if (table_ == nullptr) return kNowhere;
  const auto* page = static_cast<const char*>(contents);
  for (const uint64_t end = offset + bytes; offset < end; offset += kPageBytes, page += kPageBytes) {
    const uint64_t known = table_[offset / kPageBytes];
    if (known != 0 && known != checksum_of(page)) return offset;
  }
  return kNowhere;
}

}  // namespace spillway::storage
