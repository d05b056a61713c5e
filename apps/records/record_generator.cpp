#include "record_generator.h"

#include <bit>
#include <cstring>

namespace apps::records {
namespace {

constexpr unsigned kParts = 10;
constexpr size_t kPartBytes = 10;
static_assert(kParts * kPartBytes == kRecordBytes && kPartBytes == kKeyBytes);

// The highest 80 bits count.
constexpr std::array<Number, kParts> kPartMasks = {
    0,
    number_of(0xf0e8e4e2e1d8d4d2, 0xd1cc000000000000),
    number_of(0xcac9c6c5c3b8b4b2, 0xb1ac000000000000),
    number_of(0xaaa9a6a5a39c9a99, 0x9695000000000000),
    number_of(0x938e8d8b87787472, 0x716c000000000000),
    number_of(0x6a696665635c5a59, 0x5655000000000000),
    number_of(0x534e4d4b473c3a39, 0x3635000000000000),
    number_of(0x332e2d2b271e1d1b, 0x170f000000000000),
    number_of(0xc8c4c2c198949291, 0x8ce0000000000000),
    number_of(0x170f332e2d2b271e, 0x1d1b000000000000),
};

constexpr unsigned kSkewedBytes = 6;  // at most

// What skewed keys begin with, for each number of bits that a record's number may have.
constexpr auto kSkewNumbers = [] {
  std::array<Number, std::bit_width(kMostRecords - 1) + 1> numbers{};
  RandomSequence sequence;
  for (Number& number : numbers) number = sequence.next();
  return numbers;
}();

constexpr uint64_t high(Number number) { return static_cast<uint64_t>(number >> 64); }
constexpr uint64_t low(Number number) { return static_cast<uint64_t>(number); }

uint64_t big_endian(uint64_t value) {
  return std::endian::native == std::endian::little ? __builtin_bswap64(value) : value;
}

void write_part(char* to, Number number) {
  const uint64_t words[2] = {big_endian(high(number)), big_endian(low(number))};
  std::memcpy(to, words, kPartBytes);
}

char* write_digits_of_base_95(char* to, uint64_t value, unsigned count) {
  for (; count != 0; --count, value /= 95) *to++ = static_cast<char>(' ' + value % 95);
  return to;
}

// The lowest digits, each as often as `times` says.
char* write_hexadecimal(char* to, uint64_t value, unsigned count, unsigned times) {
  while (count-- != 0) {
    std::memset(to, "0123456789ABCDEF"[value >> (4 * count) & 0xf], times);
    to += times;
  }
  return to;
}

// Of 64 values those that are too large mean none.
unsigned skewed_bits(Number number) {
  const unsigned bits = low(number) >> 32 & 0x3f;
  return bits > 8 * kSkewedBytes ? 0 : bits;
}

unsigned skewed_bytes(Number number) {
  const unsigned bytes = low(number) >> 32 & 0x7;
  return bytes > kSkewedBytes ? 0 : bytes;
}

void write_ascii_key(char* to, Number number) {
  write_digits_of_base_95(write_digits_of_base_95(to, high(number), 8), low(number), 2);
}

}  // namespace

RecordGenerator::RecordGenerator(RecordKind kind, bool is_skewed, uint64_t first_record)
    : kind_(kind), is_skewed_(is_skewed), record_(first_record), sequence_(first_record) {
  for (unsigned behind = 0; behind < kNumbers; ++behind) numbers_[(record_ + behind) % kNumbers] = sequence_.next();
}

void RecordGenerator::step() {
  numbers_[record_ % kNumbers] = sequence_.next();
  ++record_;
}

void RecordGenerator::generate(char* to, uint64_t count) {
  for (; count != 0; --count, to += kRecordBytes) {
    if (kind_ == RecordKind::binary) {
      write_binary(to);
    } else {
      write_ascii(to);
    }
    step();
  }
}

void RecordGenerator::write_binary(char* to) const {
  for (unsigned part = 0; part < kParts; ++part) write_part(to + part * kPartBytes, number(part) ^ kPartMasks[part]);
  if (!is_skewed_) return;
  const Number own_bits = ~Number{0} >> skewed_bits(number(0));
  write_part(to, (number(0) & own_bits) | (kSkewNumbers[std::bit_width(record_)] & ~own_bits));
}

void RecordGenerator::write_ascii(char* to) const {
  const Number random = number(0);
  char key[kKeyBytes];
  write_ascii_key(key, random);
  if (is_skewed_) {
    char other_key[kKeyBytes];
    write_ascii_key(other_key, kSkewNumbers[std::bit_width(record_)]);
    std::memcpy(key, other_key, skewed_bytes(random));
  }
  std::memcpy(to, key, kKeyBytes);
  std::memcpy(to + 10, "  ", 2);
  write_hexadecimal(write_hexadecimal(to + 12, 0, 16, 1), record_, 16, 1);
  std::memcpy(to + 44, "  ", 2);
  write_hexadecimal(to + 46, low(random), 13, 4);
  std::memcpy(to + 98, "\r\n", 2);
}

}  // namespace apps::records
