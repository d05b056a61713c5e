// The order of keys. They are compared by a number first, the prefix, which has the order of what comes first in them;
// most differ there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace spillway::sort {

// `decimal` is a number in text, as sort(1) reads it with -n: blanks, a minus sign, digits, a point and digits. Others
// are 0. Numbers of the types before it are in the machine's byte order.
enum class KeyType { bytes, signed_integer, unsigned_integer, real, decimal };

class KeyOrder {
 public:
  KeyOrder(KeyType type, bool is_descending) : type_(type), descending_(is_descending ? ~uint64_t{0} : 0) {}

  KeyType type() const { return type_; }

  // Of a number, or of the eight bytes from `from` on; zeros stand for those behind the key.
  uint64_t prefix(std::string_view key, size_t from = 0) const {
    uint64_t number = 0;
    switch (type_) {
      case KeyType::bytes:
        if (key.size() >= from + sizeof number) {
          std::memcpy(&number, key.data() + from, sizeof number);
        } else if (key.size() > from) {
          std::memcpy(&number, key.data() + from, key.size() - from);
        }
        number = __builtin_bswap64(number);
        break;
      case KeyType::unsigned_integer:
        std::memcpy(&number, key.data(), key.size());
        break;
      case KeyType::signed_integer:
        std::memcpy(&number, key.data(), key.size());
        number ^= sign_of(key);
        break;
      case KeyType::real:
        std::memcpy(&number, key.data(), key.size());
        number ^= (number & sign_of(key)) != 0 ? sign_of(key) | (sign_of(key) - 1) : sign_of(key);
        break;
      case KeyType::decimal:
        number = decimal_prefix(key);
        break;
    }
    return number ^ descending_;
  }

  // Whether keys of so many bytes may differ where prefixes are the same.
  bool has_more_than_prefix(uint64_t key_bytes) const {
    return type_ == KeyType::decimal || (type_ == KeyType::bytes && key_bytes > sizeof(uint64_t));
  }

  // Of two keys with the same prefix: below, at or above 0.
  int compare_further(std::string_view first, std::string_view second) const {
    const int result = type_ == KeyType::bytes     ? first.compare(second)
                       : type_ == KeyType::decimal ? compare_decimals(first, second)
                                                   : 0;
    return descending_ == 0 ? result : -result;
  }

  // Of any two.
  int compare(std::string_view first, std::string_view second) const {
    const uint64_t prefixes[2] = {prefix(first), prefix(second)};
    return prefixes[0] != prefixes[1] ? (prefixes[0] < prefixes[1] ? -1 : 1) : compare_further(first, second);
  }

 private:
  static uint64_t sign_of(std::string_view number) { return uint64_t{1} << (8 * number.size() - 1); }
  static uint64_t decimal_prefix(std::string_view text);
  static int compare_decimals(std::string_view first, std::string_view second);

  KeyType type_;
  uint64_t descending_;  // all bits, or none
};

}  // namespace spillway::sort
