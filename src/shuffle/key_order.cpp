#include "shuffle/key_order.h"

#include "shuffle/program_error.h"

namespace spillway::shuffle {
namespace {
constexpr uint64_t kSign = uint64_t{1} << 63;
}  // namespace

uint64_t KeyOrder::prefix_of_number(std::string_view key) const {
  if (item_class_ == ItemClass::int32) {
    int32_t number = 0;
    std::memcpy(&number, key.data(), sizeof number);
    return static_cast<uint64_t>(static_cast<int64_t>(number)) ^ kSign;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, key.data(), sizeof bits);
  if (item_class_ == ItemClass::int64) return bits ^ kSign;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;  // the larger a negative double's bits, the smaller it is
}

int KeyOrder::compare_by_program(std::string_view first, std::string_view second) const {
  ItemSlot slots[2];
  return call_of_program(
      "compare",
      [&] { return compare_(slots[0].decode(item_class_, first), slots[1].decode(item_class_, second), user_); },
      [&] { return shown(item_class_, first) + " and " + shown(item_class_, second); });
}

bool KeyOrder::are_equal_in_order(std::string_view first, std::string_view second) const {
  const int forth = compare_by_program(first, second);
  const int back = compare_by_program(second, first);
  if (forth > 0 || back < 0 || (forth == 0) != (back == 0)) refuse_contradiction(first, second);
  return forth == 0;
}

void KeyOrder::refuse_contradiction(std::string_view first, std::string_view second) const {
  throw ProgramError("the program's compare function contradicts itself about the keys " + shown(item_class_, first) +
                     " and " + shown(item_class_, second) +
                     ": its answers do not agree on their order\n"
                     "  Remedy: let it answer the opposite for swapped keys, and put all keys in one order.");
}

int KeyOrder::compare(std::string_view first, std::string_view second) const {
  const uint64_t prefixes[2] = {prefix(first), prefix(second)};
  if (prefixes[0] != prefixes[1]) return prefixes[0] < prefixes[1] ? -1 : 1;
  return compare_further(first, second);
}

}  // namespace spillway::shuffle
