// Makes the records that gensort makes, byte for byte, from any one on: so that many processes can make parts of a
// file.
//
// Record n is made of the number n of the random sequence and, if it is binary, of the nine after it: ten parts of ten
// bytes, each the highest bytes of one number, all but the key XORed with a constant. In a record of printable
// characters the key has digits of base 95, and between spaces follow the record's number and some of the random bits,
// in hexadecimal. The keys of three of four skewed records begin with some bits of one of the first keys: that whose
// number is how many bits n has.
#pragma once

#include <array>
#include <cstdint>

#include "random_sequence.h"
#include "sort_record.h"

namespace apps::records {

enum class RecordKind { binary, ascii };

class RecordGenerator {
 public:
  // REQUIRES: no record from kMostRecords on is generated.
  RecordGenerator(RecordKind kind, bool is_skewed, uint64_t first_record);

  // The next ones, one after the other.
  void generate(char* to, uint64_t count);

 private:
  static constexpr unsigned kNumbers = 16;  // at least ten, and a power of two

  Number number(unsigned behind) const { return numbers_[(record_ + behind) % kNumbers]; }
  void write_binary(char* to) const;
  void write_ascii(char* to) const;
  void step();

  const RecordKind kind_;
  const bool is_skewed_;
  uint64_t record_;
  RandomSequence sequence_;
  std::array<Number, kNumbers> numbers_;  // of this record and the next ones
};

}  // namespace apps::records
