#include "record_checksum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "sort_record.h"

namespace apps::records {
namespace {

constexpr size_t kStep = 16;  // bytes that are looked up at a time, each in a table of its own
using Tables = std::array<std::array<uint32_t, 256>, kStep>;

// tables[i][b] is what a byte b contributes with i bytes behind it.
constexpr Tables make_tables() {
  constexpr uint32_t kPolynomial = 0xedb88320;
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = remainder;
  }
  for (size_t behind = 1; behind < kStep; ++behind)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[behind - 1][byte];
      tables[behind][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  return tables;
}

constexpr Tables kTables = make_tables();

// The remainder after `kBytes` more bytes.
template <size_t kBytes>
uint32_t after(uint32_t remainder, const char* data) {
  unsigned char bytes[kBytes];
  std::memcpy(bytes, data, kBytes);
  for (size_t i = 0; i < sizeof remainder; ++i) bytes[i] ^= static_cast<unsigned char>(remainder >> (8 * i));
  uint32_t next = 0;
  for (size_t i = 0; i < kBytes; ++i) next ^= kTables[kBytes - 1 - i][bytes[i]];
  return next;
}

}  // namespace

uint32_t record_crc32(const char* record) {
  constexpr size_t kRest = kRecordBytes % kStep;
  static_assert(kRest == sizeof(uint32_t));
  uint32_t remainder = ~uint32_t{0};
  const char* end = record + kRecordBytes - kRest;
  for (; record != end; record += kStep) remainder = after<kStep>(remainder, record);
  return ~after<kRest>(remainder, record);
}

Number record_checksum(const char* records, uint64_t count) {
  Number sum = 0;
  for (; count != 0; --count, records += kRecordBytes) sum += record_crc32(records);
  return sum;
}

std::string hexadecimal(Number number) {
  std::string digits;
  do {
    digits += "0123456789abcdef"[static_cast<unsigned>(number & 0xf)];
    number >>= 4;
  } while (number != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace apps::records
