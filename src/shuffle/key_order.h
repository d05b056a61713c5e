// Which of two keys comes first.
//
// Most comparisons end with the first eight bytes of the keys, as a number that is kept beside each record: strings and
// bytes in the order of their bytes, numbers by value (of doubles, -0 before 0 and NaNs at the ends). Where the program
// compares keys itself, that number is the same for all keys.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "shuffle/item_class.h"

namespace spillway::shuffle {

class KeyOrder {
 public:
  // The program's: less than, equal to or greater than zero.
  using Function = int (*)(const void* first, const void* second, void* user);

  explicit KeyOrder(ItemClass item_class, Function compare_function = nullptr, void* user = nullptr)
      : item_class_(item_class), compare_(compare_function), user_(user) {}

  // No order: records stay as they come.
  static KeyOrder of_arrival(ItemClass item_class) {
    KeyOrder order(item_class);
    order.sorts_ = false;
    return order;
  }
  bool sorts() const { return sorts_; }
  bool is_programs() const { return compare_ != nullptr; }

  uint64_t prefix(std::string_view key) const {
    if (compare_ != nullptr) return 0;
    if (item_class_ == ItemClass::string || item_class_ == ItemClass::bytes) return first_bytes(key);
    return prefix_of_number(key);
  }

  // Of two keys with the same prefix.
  int compare_further(std::string_view first, std::string_view second) const {
    if (compare_ != nullptr) return compare_by_program(first, second);
    if (first.size() <= sizeof(uint64_t) && second.size() <= sizeof(uint64_t))
      return static_cast<int>(first.size()) - static_cast<int>(second.size());
    return first.compare(second);
  }

  int compare(std::string_view first, std::string_view second) const;

  // Of two keys that the program's answers have brought into this order: whether they are equal. Throws ProgramError
  // where it says now that `second` comes first, or something else when they are swapped. REQUIRES: is_programs().
  bool are_equal_in_order(std::string_view first, std::string_view second) const;
  [[noreturn]] void refuse_contradiction(std::string_view first, std::string_view second) const;

 private:
  static uint64_t first_bytes(std::string_view key) {
    uint64_t bytes = 0;
    if (key.empty()) return bytes;
    std::memcpy(&bytes, key.data(), key.size() < sizeof bytes ? key.size() : sizeof bytes);
    return std::endian::native == std::endian::little ? __builtin_bswap64(bytes) : bytes;
  }

  uint64_t prefix_of_number(std::string_view key) const;
  int compare_by_program(std::string_view first, std::string_view second) const;

  ItemClass item_class_;
  Function compare_;
  void* user_;
  bool sorts_ = true;
};

}  // namespace spillway::shuffle
